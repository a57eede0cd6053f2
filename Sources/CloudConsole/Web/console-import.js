"use strict";
const picker = document.getElementById("file");
const status = document.getElementById("read");
const text = document.getElementById("text");
const bytesMax = 2000000;
picker.addEventListener("change", async () => {
  const file = picker.files[0];
  if (!file) return;
  if (file.size > bytesMax) {
    status.textContent = "The file is too large: at most 2 MB at a time.";
    return;
  }
  text.value = await file.text();
  status.textContent = file.name + " was read. Press Import to save its records.";
});
