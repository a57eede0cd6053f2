"use strict";
const picker = document.getElementById("file");
const status = document.getElementById("read");
const text = document.getElementById("text");
const bytes = document.getElementById("bytes");
const bytesMax = 2000000;
picker.addEventListener("change", async () => {
  const file = picker.files[0];
  if (!file) return;
  if (file.size > bytesMax) {
    status.textContent = "The file is too large: at most 2 MB at a time.";
    return;
  }
  const content = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (const byte of content) binary += String.fromCharCode(byte);
  text.value = new TextDecoder().decode(content);
  // Browsers change the line breaks of text areas, so the form has the bytes of the file instead.
  bytes.value = btoa(binary);
  text.removeAttribute("name");
  status.textContent = file.name + " was read. Press Import to save its records.";
});
text.addEventListener("input", () => {
  bytes.value = "";
  text.name = "text";
});
