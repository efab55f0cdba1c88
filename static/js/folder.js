/* A folder input (data-folder) sends only files with the listed endings. Uploads contain only file names, so the paths relative
   to the folder are sent in a hidden field. */

function keepWanted(input) {
  const { form } = input;
  const endings = (input.dataset.endings ?? "").split(",").filter(Boolean);
  const kept = new DataTransfer();
  const paths = [];
  const chosen = [...input.files];
  for (const file of chosen) {
    if (!endings.some((ending) => file.name.endsWith(ending))) continue;
    kept.items.add(file);
    paths.push(file.webkitRelativePath.split("/").slice(1).join("/") || file.name);
  }
  input.files = kept.files;
  form.elements[input.dataset.folder].value = paths.length ? JSON.stringify(paths) : "";
  input.setCustomValidity(
    chosen.length && !paths.length ? `No file in this folder ends in ${endings.join(", ")}.` : "",
  );
  const note = form.querySelector("[data-folder-note]");
  if (note) note.textContent = chosen.length ? `${paths.length} of ${chosen.length} files are test cases.` : "";
  input.reportValidity();
}

for (const input of document.querySelectorAll("input[type=file][data-folder]")) {
  input.addEventListener("change", () => keepWanted(input));
}
