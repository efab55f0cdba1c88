/* A folder chosen in the browser (input data-folder): only files of the wanted kinds are sent, and the paths below the
   folder go along in a hidden field, since uploads themselves carry names alone. */

for (const input of document.querySelectorAll("input[type=file][data-folder]")) {
  const paths = input.form?.elements[input.dataset.folder];
  const endings = (input.dataset.endings ?? "").split(",").filter(Boolean);
  if (!paths) continue;
  const note = input.form.querySelector("[data-folder-note]");

  const sort = () => {
    const kept = new DataTransfer();
    const names = [];
    const chosen = [...input.files];
    for (const file of chosen) {
      if (!endings.some((ending) => file.name.endsWith(ending))) continue;
      kept.items.add(file);
      names.push(file.webkitRelativePath.split("/").slice(1).join("/") || file.name);
    }
    input.files = kept.files;
    paths.value = names.length ? JSON.stringify(names) : "";
    input.setCustomValidity(chosen.length && !names.length ? `No file there ends in ${endings.join(", ")}.` : "");
    if (note) {
      note.textContent = chosen.length ? `${names.length} of ${chosen.length} files are test cases.` : "";
    }
    input.reportValidity();
  };
  input.addEventListener("change", sort);
}
