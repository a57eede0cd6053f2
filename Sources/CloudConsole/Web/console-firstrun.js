"use strict";
const password = document.getElementById("password");
const again = document.getElementById("again");
const strength = document.getElementById("strength");
const least = Number(password.dataset.least);
const strengthOf = length => {
  if (length < least) return `${least - length} more characters are needed.`;
  return length < least + 4 ? "Fair. Four more characters make it much stronger." : length < least + 8 ? "Good." : "Strong.";
};
const check = () => {
  strength.textContent = strengthOf([...password.value].length);
  again.setCustomValidity(again.value && again.value !== password.value ? "The two passwords differ." : "");
};
password.addEventListener("input", check);
again.addEventListener("input", check);
