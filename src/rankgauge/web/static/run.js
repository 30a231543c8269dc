"use strict";
// The table of queries: as many rows as fit are in the page, however many there are; all of its state is in the address.
(() => {
  const box = document.querySelector(".window");
  const heads = box.querySelector(".heads"), view = box.querySelector(".rows"), field = box.querySelector("input");
  const count = box.querySelector(".count");
  const names = JSON.parse(box.dataset.columns);
  const HEIGHT = 37, SPARE = 8; // pixels of a row, and rows beyond each edge
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const cell = (kind, text) => Object.assign(document.createElement("span"), { className: kind, textContent: text });
  const main = names[1 + names.includes("group")]; // the measure; what is aside gives way on a small screen
  const kind = (name) => (name === "query" ? "" : name === "group" ? "aside" : name === main ? "n" : "n aside");
  let all = [], shown = [], chosen = 0, sort = box.dataset.sort, down = box.dataset.down === "true", top = 1;

  // ---- rows ----
  const room = document.createElement("div");
  room.className = "room";
  room.setAttribute("role", "presentation");
  view.append(room);
  const counts = new Set(JSON.parse(box.dataset.counts)); // measures of whole numbers
  const text = (value, name) => (value === null ? "–" : counts.has(name) && Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(4));
  const address = (row) => `${box.dataset.queryPage}&${new URLSearchParams({ query: row.id })}`;
  const made = (row, at) => {
    const line = document.createElement("div");
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", at + 2);
    line.className = at === chosen ? "line chosen" : "line";
    line.style.transform = `translateY(${at * HEIGHT}px)`;
    names.forEach((name, place) => {
      const part = document.createElement("div");
      part.setAttribute("role", "cell");
      if (name === "query") {
        const link = Object.assign(document.createElement("a"), { href: address(row), tabIndex: -1, textContent: row.text || row.id });
        part.append(link);
        if (row.text) part.append(" ", cell("id", row.id));
      } else if (name === "group") Object.assign(part, { textContent: row.group, title: row.group, className: kind(name) });
      else {
        part.className = kind(name);
        const value = row.values[place - (names.length - row.values.length)];
        if (place === names.length - row.values.length) part.append(bar(value));
        part.append(text(value, name));
      }
      line.append(part);
    });
    return line;
  };
  const bar = (value) => {
    const space = "http://www.w3.org/2000/svg";
    const picture = document.createElementNS(space, "svg"), rect = document.createElementNS(space, "rect");
    picture.setAttribute("viewBox", "0 0 100 8");
    picture.setAttribute("preserveAspectRatio", "none");
    picture.setAttribute("aria-hidden", "true");
    rect.setAttribute("width", Math.max(0, 100 * (value ?? 0) / top).toFixed(1));
    rect.setAttribute("height", 8);
    picture.append(rect);
    return picture;
  };
  let first = -1, last = -1;
  const paint = (force) => {
    const from = Math.max(0, Math.floor(view.scrollTop / HEIGHT) - SPARE);
    const to = Math.min(shown.length, Math.ceil((view.scrollTop + view.clientHeight) / HEIGHT) + SPARE);
    if (!force && from === first && to === last) return;
    [first, last] = [from, to];
    room.style.height = `${shown.length * HEIGHT}px`;
    room.replaceChildren(...shown.slice(from, to).map((row, at) => made(row, from + at)));
  };
  let asked = false;
  view.addEventListener("scroll", () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; paint(false); });
  }, { passive: true });
  addEventListener("resize", () => paint(true));

  // ---- order and search ----
  const keys = { query: (row) => row.text || row.id, group: (row) => row.group };
  const arranged = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = all.filter((row) => words.every((word) => row.find.includes(word)));
    const at = names.indexOf(sort) - (names.length - (all[0]?.values.length ?? 0));
    const key = keys[sort] ?? ((row) => row.values[at]);
    const sign = down ? -1 : 1;
    shown.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (typeof x === "number" ? x - y : collator.compare(x, y)) || a.place - b.place;
    });
    const number = all.length.toLocaleString("en");
    const what = `${number} ${all.length === 1 ? "query" : "queries"}`;
    count.textContent = words.length ? `${shown.length.toLocaleString("en")} of ${what}` : what;
    chosen = Math.min(chosen, Math.max(0, shown.length - 1));
    paint(true);
  };
  const remember = () => {
    const here = new URLSearchParams(location.search);
    for (const [name, value] of [["sort", sort], ["down", down ? "true" : ""], ["find", field.value.trim()]]) {
      if (value) here.set(name, value); else here.delete(name);
    }
    history.replaceState(null, "", `${location.pathname}?${here}`);
  };
  const line = document.createElement("div");
  line.setAttribute("role", "row");
  line.className = "line";
  names.forEach((name, at) => {
    const head = document.createElement("div"), button = document.createElement("button");
    head.setAttribute("role", "columnheader");
    head.className = kind(name);
    button.type = "button";
    button.textContent = name;
    button.addEventListener("click", () => {
      down = sort === name ? !down : false;
      sort = name;
      mark();
      chosen = 0;
      view.scrollTop = 0;
      arranged();
      remember();
    });
    head.append(button);
    line.append(head);
  });
  box.style.setProperty("--columns", names.map((name, at) => (name === "query" ? "minmax(8rem, 1fr)" : name === "group" ? "7rem" : at === 1 + names.includes("group") ? "11rem" : "7rem")).join(" "));
  heads.append(line);
  const mark = () => [...line.children].forEach((head, at) => {
    head.setAttribute("aria-sort", names[at] === sort ? (down ? "descending" : "ascending") : "none");
  });
  mark();
  let typing;
  field.addEventListener("input", () => {
    chosen = 0;
    view.scrollTop = 0;
    arranged();
    clearTimeout(typing);
    typing = setTimeout(remember, 200);
  });

  // ---- keys ----
  const choose = (at) => {
    chosen = Math.max(0, Math.min(shown.length - 1, at));
    const from = chosen * HEIGHT, to = from + HEIGHT;
    if (from < view.scrollTop) view.scrollTop = from;
    else if (to > view.scrollTop + view.clientHeight) view.scrollTop = to - view.clientHeight;
    paint(true);
  };
  const page = () => Math.max(1, Math.floor(view.clientHeight / HEIGHT) - 1);
  const moves = { ArrowDown: () => 1, ArrowUp: () => -1, PageDown: page, PageUp: () => -page(), Home: () => -1e9, End: () => 1e9 };
  box.addEventListener("keydown", (event) => {
    if (event.target === field && !["ArrowDown", "ArrowUp", "Enter"].includes(event.key)) return;
    if (event.target.closest("button")) return;
    if (event.key === "Enter" && shown[chosen]) { location.href = address(shown[chosen]); return; }
    const move = moves[event.key];
    if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    choose(chosen + move());
  });

  // ---- what there is ----
  const load = async () => {
    const answer = await fetch(box.dataset.rows);
    if (!answer.ok) { count.textContent = (await answer.json()).error ?? "The queries could not be fetched."; return; }
    const told = await answer.json();
    all = told.rows.map(([id, ...values], place) => {
      const row = { id, place, values, text: told.texts[id] ?? "", group: told.groups[id] ?? "" };
      row.find = `${id} ${row.text} ${row.group}`.toLowerCase();
      return row;
    });
    top = Math.max(1, ...all.map((row) => row.values[0] ?? 0));
    arranged();
    box.dataset.ready = "true";
  };
  load();
})();
