"use strict";
const all = document.getElementById("all");
const boxes = [...document.getElementById("records").querySelectorAll("input[type=checkbox]")];
const show = () => {
  const chosen = boxes.filter(box => box.checked).length;
  all.checked = boxes.length > 0 && chosen === boxes.length;
  all.indeterminate = chosen > 0 && chosen < boxes.length;
};
all.addEventListener("change", () => {
  for (const box of boxes) box.checked = all.checked;
});
for (const box of boxes) box.addEventListener("change", show);
show();
