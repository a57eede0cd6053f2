"use strict";
const form = document.getElementById("record");
for (const picker of form.querySelectorAll("input[type=file]")) {
  const receipt = picker.nextElementSibling;
  const state = receipt.nextElementSibling;
  picker.addEventListener("change", async () => {
    const file = picker.files[0];
    receipt.value = "";
    state.textContent = "";
    if (!file) return;
    const buttons = form.querySelectorAll("button");
    for (const button of buttons) button.disabled = true;
    try {
      state.textContent = "Sending …";
      const name = form.elements.name ? form.elements.name.value : "";
      const sent = await databaseOf(form).uploadAsset(file, {
        recordType: form.dataset.type, fieldName: picker.dataset.field, ...(name ? { recordName: name } : {})
      }, { zoneID: zoneOf(form) });
      receipt.value = JSON.stringify(sent.value);
      state.textContent = "Sent; save the record to keep it.";
    } catch (error) {
      state.textContent = "The file could not be sent: " + error.message;
    }
    for (const button of buttons) button.disabled = false;
  });
}
// Only a browser knows which files are pictures.
for (const picture of document.querySelectorAll("img.preview")) {
  const show = () => { picture.hidden = picture.naturalWidth === 0; };
  picture.addEventListener("load", show);
  show();
}
