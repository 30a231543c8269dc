"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const each = (selector, within, act) => within.querySelectorAll(selector).forEach(act);

  // ---- light and dark ----
  const remembered = (() => { try { return localStorage.getItem("rankgauge-theme"); } catch { return null; } })();
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = remembered === "dark" || remembered === "light" ? remembered : null;
  const theme = () => chosen ?? (system.matches ? "dark" : "light");
  const paint = () => { root.dataset.theme = theme(); };
  paint();
  document.getElementById("theme").addEventListener("click", () => {
    chosen = theme() === "dark" ? "light" : "dark";
    try { localStorage.setItem("rankgauge-theme", chosen); } catch { /* a file may not remember */ }
    paint();
    redraw();
  });
  system.addEventListener("change", () => { if (!chosen) { paint(); redraw(); } });

  // ---- tables: sort by any column, search in all ----
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const keyOf = (cell) => ("v" in cell.dataset ? parseFloat(cell.dataset.v) : cell.textContent.trim());
  const compare = (a, b) => {
    const [x, y] = [a.key, b.key];
    const [empty, void_] = [x, y].map((k) => k === "" || k === "–" || Number.isNaN(k));
    if (empty || void_) return empty - void_; // what is missing stays at the end, either way
    const order = typeof x === "number" && typeof y === "number" ? x - y : collator.compare(String(x), String(y));
    return order * a.sign;
  };
  const sort = (table, head) => {
    const at = [...head.parentNode.children].indexOf(head);
    const number = head.classList.contains("n");
    const now = head.getAttribute("aria-sort");
    const next = now === "none" ? (number ? "descending" : "ascending") : now === "ascending" ? "descending" : "ascending";
    each("th[aria-sort]", head.parentNode, (other) => other.setAttribute("aria-sort", other === head ? next : "none"));
    const body = table.tBodies[0];
    const sign = next === "ascending" ? 1 : -1;
    const rows = [...body.rows].map((row, place) => ({ row, place, key: keyOf(row.cells[at]), sign }));
    rows.sort((a, b) => compare(a, b) || a.place - b.place);
    body.append(...rows.map((entry) => entry.row));
  };
  const search = (box, field) => {
    const rows = [...box.querySelector("tbody").rows];
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    const all = rows.length.toLocaleString("en");
    box.querySelector(".count").textContent = words.length ? `${shown.toLocaleString("en")} of ${all} rows` : `${all} rows`;
  };
  // Heard at the document, so that parts which come later are alive, too.
  const heard = (event, selector, act) => document.addEventListener(event, ({ target }) => {
    const found = target.closest?.(selector);
    if (found) act(found);
  });
  heard("click", ".table th[aria-sort] button", (button) => sort(button.closest("table"), button.parentNode));
  heard("input", ".table input[type=search]", (field) => search(field.closest(".table"), field));
  heard("click", ".copy", async (button) => {
    const code = button.parentNode.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
    }
  });

  // ---- links into folded parts, and where the reader is ----
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      links.forEach((link, key) => key === entry.target.id ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current"));
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  each("main > section", document, (section) => seen.observe(section));

  // ---- printing shows what is folded ----
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((fold) => { fold.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((fold) => { fold.open = false; }));

  // ---- charts: the library is unpacked, or fetched, when it is first needed ----
  const stored = document.getElementById("chart-data");
  const { specs = {}, dark = {} } = stored ? JSON.parse(stored.textContent) : {};
  const fetched = async () => { // a page of the app has neither charts nor library in it
    const answer = await fetch(document.body.dataset.charts);
    if (!answer.ok) throw new Error(`no charts: ${answer.status}`);
    const told = await answer.json();
    Object.assign(dark, told.dark);
    for (const [key, { title, caption, spec, problem }] of Object.entries(told.charts)) {
      const figure = document.querySelector(`[data-chart="${CSS.escape(key)}"]`)?.closest("figure");
      if (!figure) continue;
      specs[key] = spec;
      figure.querySelector("h3").textContent = title ?? "";
      figure.querySelector("figcaption").textContent = problem ?? caption;
    }
  };
  const loaded = (source) => new Promise((done, failed) => {
    const made = Object.assign(document.createElement("script"), { src: source, onload: done, onerror: failed });
    document.head.append(made);
  });
  const drawn = new Map(); // place → the chart that is there instead of the still picture, and for which theme and width
  let library;
  const load = () => library ??= (async () => {
    if (!stored) {
      await Promise.all([fetched(), window.vegaEmbed ?? loaded(document.body.dataset.library)]);
      return window.vegaEmbed;
    }
    const packed = Uint8Array.from(atob(document.getElementById("chart-library").textContent), (char) => char.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    return window.vegaEmbed;
  })();
  const fitted = (value, width, night) => { // the same chart in the other theme, or narrower
    if (typeof value === "string") return night && value in dark ? dark[value] : value;
    if (Array.isArray(value)) return value.map((item) => fitted(item, width, night));
    if (value === null || typeof value !== "object") return value;
    const made = {};
    for (const [key, item] of Object.entries(value)) {
      if (key === "datasets" || key === "values") made[key] = item; // data stay as they are
      else if (key === "labelLimit" && typeof item === "number") made[key] = Math.min(item, Math.round(width / 3));
      else if (key === "limit" && typeof item === "number") made[key] = Math.round(Math.min(item, item * width / 720));
      else made[key] = fitted(item, width, night);
    }
    if (typeof value.columns === "number") { // a legend
      made.columns = Math.max(1, Math.round(value.columns * width / 720));
      made.labelLimit = Math.floor((width - 60) / made.columns) - 36;
    }
    return made;
  };
  const rows = (spec) => JSON.stringify(spec).length; // a measure of how much there is to draw
  const draw = async (place) => {
    const width = Math.floor(place.clientWidth), night = theme() === "dark", now = drawn.get(place);
    if (!width || (now && now.width === width && now.night === night)) return;
    drawn.set(place, { width, night, view: now?.view });
    const embed = await load();
    if (!specs[place.dataset.chart]) return;
    const spec = { ...fitted(specs[place.dataset.chart], width, night), width };
    const options = { ast: true, logLevel: 1, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
    options.actions = { export: true, source: false, compiled: false, editor: false };
    options.downloadFileName = place.dataset.chart;
    options.renderer = rows(spec) > 400000 ? "canvas" : "svg";
    now?.view?.finalize();
    const room = place.querySelector(".live") ?? place.appendChild(document.createElement("div"));
    room.className = "live";
    const made = await embed(room, spec, options);
    await made.view.resize().runAsync(); // a legend that took more lines than it was given makes room for itself
    drawn.set(place, { width, night, view: made });
    const leads = (item) => item?.datum?.id !== undefined && place.closest("[data-query-page]"); // a query, to its page
    made.view.addEventListener("mouseover", (event, item) => { event.target.style.cursor = leads(item) ? "pointer" : ""; });
    made.view.addEventListener("click", (event, item) => {
      if (leads(item)) place.dispatchEvent(new CustomEvent("query", { bubbles: true, detail: item.datum.id }));
    });
    place.classList.add("done");
    place.dataset.drawn = `${night ? "dark" : "light"} ${width}`;
  };
  let queue = Promise.resolve();
  const show = (place) => { queue = queue.then(() => draw(place)).catch(console.error); return queue; };
  const redraw = () => drawn.forEach((_, place) => show(place));
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { near.unobserve(entry.target); show(entry.target); }
  }, { rootMargin: "400px" });
  const watch = () => each("[data-chart]", document, (place) => near.observe(place));
  watch();
  document.addEventListener("filled", () => { library = undefined; watch(); }); // other charts may be there now
  let wait;
  addEventListener("resize", () => { clearTimeout(wait); wait = setTimeout(redraw, 200); });
})();
