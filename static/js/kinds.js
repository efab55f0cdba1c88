/* In the form that registers a model, show only the fields of the chosen kind. Without scripts, all fields are shown. */

for (const form of document.querySelectorAll("form[data-kind-form]")) {
  const choice = form.querySelector('select[name="kind"]');
  const update = () => {
    for (const part of form.querySelectorAll("[data-for-kind]")) {
      part.hidden = !part.dataset.forKind.split(" ").includes(choice.value);
    }
  };
  choice?.addEventListener("change", update);
  if (choice) update();
}
