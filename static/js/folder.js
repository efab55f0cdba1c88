/* A folder input (data-folder) sends only files with the listed endings. Uploads contain only file names, so the paths relative
   to the folder are sent in a hidden field, and the folder's name in another if the form has one (folder_name). */

function keepWanted(input) {
  const { form } = input;
  const endings = (input.dataset.endings ?? "").split(",").filter(Boolean);
  const kept = new DataTransfer();
  const paths = [];
  const chosen = [...input.files];
  for (const file of chosen) {
    if (!endings.some((ending) => file.name.toLowerCase().endsWith(ending))) continue;
    kept.items.add(file);
    paths.push(file.webkitRelativePath.split("/").slice(1).join("/") || file.name);
  }
  input.files = kept.files;
  form.elements[input.dataset.folder].value = paths.length ? JSON.stringify(paths) : "";
  const name = form.elements.namedItem("folder_name");
  if (name) name.value = paths.length ? chosen[0].webkitRelativePath.split("/")[0] : "";
  input.setCustomValidity(
    chosen.length && !paths.length ? `No file in this folder ends in ${endings.join(", ")}.` : "",
  );
  const note = form.querySelector("[data-folder-note]");
  const text = `${paths.length} of ${chosen.length} files are ${note?.dataset.folderNote}.`;
  if (note) note.textContent = chosen.length ? text : "";
  input.reportValidity();
}

for (const input of document.querySelectorAll("input[type=file][data-folder]")) {
  input.addEventListener("change", () => keepWanted(input));
}
