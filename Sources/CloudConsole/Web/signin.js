"use strict";
const place = document.getElementById("token");
if (window.opener) {
  const message = { ckWebAuthToken: place.dataset.token, ckSession: place.dataset.token };
  window.opener.postMessage(message, place.dataset.origin);
}
