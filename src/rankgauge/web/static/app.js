"use strict";
// What every page of the app does: choosing goes to another address, what is pending is fetched again, files are reread.
(() => {
  // ---- choosing ----
  const go = (form) => {
    const here = new URLSearchParams(location.search);
    const named = new Set([...form.elements].map((field) => field.name).filter(Boolean));
    named.forEach((name) => here.delete(name));
    // Several fields may set one parameter (a measure, its cut-off, its gain): the one that was changed does.
    const changed = form.querySelector("[data-changed]");
    const taken = new Set();
    for (const field of form.elements) {
      if (!field.name) continue;
      const many = field.name === "run" && [...form.elements].filter((each) => each.name === "run").length > 1;
      if (!many) {
        if (taken.has(field.name)) continue;
        taken.add(field.name);
      }
      const value = !many && changed?.name === field.name ? changed.value : field.value;
      if (value) here.append(field.name, value);
    }
    if (changed?.name === "run") for (const name of ["move", "set"]) here.delete(name); // another ranking
    location.href = `${location.pathname}?${here}`;
  };
  document.addEventListener("change", ({ target }) => {
    const form = target.closest?.("form.controls");
    if (!form) return;
    target.dataset.changed = "";
    // Two of a kind change places: a system is not compared with itself.
    const was = target.querySelector("option[selected]")?.value;
    const pair = { run: "run", retrieved: "reranked", reranked: "retrieved" }[target.name];
    const other = [...form.elements].find((each) => each !== target && each.name === pair && each.value && each.value === target.value);
    if (other && was) other.value = was;
    go(form);
  });
  addEventListener("pageshow", () => document.querySelectorAll("form.controls").forEach((form) => { // also after Back
    form.reset();
    form.querySelectorAll("[data-changed]").forEach((field) => delete field.dataset.changed);
  }));
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form.controls")) return;
    event.preventDefault();
    if (document.activeElement?.name) document.activeElement.dataset.changed = "";
    go(event.target);
  });

  // ---- the menu: where it is too long for the screen, the page that is open is in sight ----
  const menu = document.querySelector(".top nav"), current = menu?.querySelector("[aria-current]");
  if (current) {
    const around = menu.getBoundingClientRect(), own = current.getBoundingClientRect();
    menu.scrollLeft += own.left - around.left - (around.width - own.width) / 2;
  }

  // ---- marks of charts lead to queries ----
  document.addEventListener("query", ({ target, detail }) => {
    const page = target.closest("[data-query-page]")?.dataset.queryPage;
    if (page) location.href = `${page}&${new URLSearchParams({ query: detail })}`;
  });

  // ---- what is not there yet ----
  const main = document.getElementById("main");
  const keep = "queries"; // has a life of its own
  let wait = 300;
  const again = async () => {
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const next = page.getElementById("main");
      if (!next) throw new Error("no page");
      const waiting = next.dataset.pending;
      if (!waiting || waiting !== main.dataset.pending || next.querySelector(".reading")) {
        if (main.querySelector(".reading") && !next.querySelector(".reading")) { location.reload(); return; }
        fill(next);
      }
      if (waiting) setTimeout(again, wait = Math.min(2000, wait * 1.5));
    } catch {
      setTimeout(again, wait = Math.min(5000, wait * 2));
    }
  };
  const fill = (next) => { // only what has changed: nothing is taken out of anybody's hands
    if (next.dataset.pending) main.dataset.pending = next.dataset.pending;
    else delete main.dataset.pending;
    const parts = (page) => new Map([...page.querySelectorAll(":scope > section[id], :scope > .banner")].map((part) => [part.id || "banner", part]));
    const old = parts(main), fresh = parts(next);
    old.forEach((part, key) => { if (!fresh.has(key)) part.remove(); });
    let after = main.querySelector(":scope > .head");
    fresh.forEach((part, key) => {
      const was = old.get(key);
      const same = was && (key === keep || bare(was) === bare(part));
      const now = same ? was : document.adoptNode(part);
      if (!same && was) was.replaceWith(now);
      else if (!was) (after ? after.after(now) : main.prepend(now));
      if (key !== "banner") after = now;
    });
    document.dispatchEvent(new Event("filled"));
  };
  const bare = (part) => { // a section without what scripts have drawn into it
    const copy = part.cloneNode(true);
    copy.querySelectorAll(".plot").forEach((plot) => plot.replaceWith(plot.dataset.chart));
    copy.querySelectorAll("figure.chart :is(h3, figcaption)").forEach((words) => words.remove());
    return copy.innerHTML;
  };
  if (main.dataset.pending) setTimeout(again, wait);

  // ---- files that have changed ----
  document.addEventListener("click", async ({ target }) => {
    if (target.id !== "reread") return;
    target.disabled = true;
    target.textContent = "Reading …";
    const answer = await fetch("/reread", { method: "POST" });
    if (answer.ok) location.reload();
    else { target.disabled = false; target.textContent = "Not read; try again"; }
  });
})();
