// Show why a passkey could not be used: allauth's scripts only report it to the console.
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  const box = document.querySelector("[data-passkey-error]");
  if (!(box instanceof HTMLElement)) return;
  const unsupported = !window.PublicKeyCredential;
  box.textContent = unsupported
    ? "This browser does not support passkeys here. They need HTTPS."
    : "The passkey was not used: you cancelled, it took too long, or it belongs to another site. Try again.";
  box.hidden = false;
});
