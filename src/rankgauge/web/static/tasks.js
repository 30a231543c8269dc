"use strict";
// Tasks are made, closed and opened again; the page is then fetched anew.
(() => {
  const send = async (to, body) => {
    const answer = await fetch(to, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
    }).catch(() => null);
    if (!answer) return { error: "The server does not answer; is it still running?" };
    const told = await answer.json().catch(() => ({ error: `The server says ${answer.status}.` }));
    if (answer.status === 401 && told.login) location.href = told.login;
    return told;
  };

  document.addEventListener("click", async ({ target }) => {
    if (!target.matches?.("button[data-task]")) return;
    target.disabled = true;
    const told = await send(target.dataset.to, { task: target.dataset.task });
    if (!told.error) { location.reload(); return; }
    target.disabled = false;
    target.textContent = told.error;
  });

  const form = document.getElementById("make");
  if (!form) return;
  const scale = document.getElementById("make-scale"), levels = document.getElementById("make-levels");
  const show = () => {
    const known = scale.selectedOptions[0].dataset.words;
    if (known !== undefined) levels.value = known; // an own scale begins with the one that was shown
    levels.readOnly = known !== undefined;
  };
  scale.addEventListener("change", show);
  show();
  const names = (text) => text.split(",").map((each) => each.trim()).filter(Boolean);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = new FormData(form), button = form.querySelector("button"), said = form.querySelector(".said");
    button.disabled = true;
    said.className = "said";
    said.textContent = "Making the task …";
    const told = await send("/tasks", {
      name: given.get("name"), systems: given.getAll("systems"), depth: Number(given.get("depth")), overlap: Number(given.get("overlap")),
      gold: Number(given.get("gold")) / 100, repeat: Number(given.get("repeat")) / 100, raters: names(given.get("raters")), fields: names(given.get("fields")),
      scale: scale.value || levels.value, guidelines: given.get("guidelines"), shows_models: given.has("shows_models"),
    });
    button.disabled = false;
    if (told.error) { said.className = "said refused"; said.textContent = told.error; return; }
    if (told.notes.length) { said.textContent = `Made, ${told.pairs} ${told.pairs === 1 ? "pair" : "pairs"}. ${told.notes.join(" ")}`; return; }
    location.reload();
  });
})();
