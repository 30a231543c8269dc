"use strict";
// A ranking that can be changed: by drag, by keys, by buttons. The server computes; the newest answer is the one shown.
(() => {
  const place = document.getElementById("explained");
  const help = document.getElementById("help");
  const now = () => place.querySelector(".explained");
  const list = () => place.querySelector(".ranked");
  const cards = () => [...list().querySelectorAll(".card")];
  const cut = () => parseInt(list().dataset.cut, 10) || Infinity;
  const first = location.pathname + location.search; // as the page was opened
  const given = now().dataset.asItWas || first;

  // ---- asking ----
  let sent = 0, drag = null;
  const ask = async (change, top) => {
    const number = ++sent;
    place.classList.add("asking");
    const answer = await fetch(place.dataset.whatIf, {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ at: now().dataset.at, top, ...change }),
    }).catch(() => null);
    if (number !== sent) return null; // a newer question is on its way
    place.classList.remove("asking");
    if (!answer?.ok) {
      say(answer ? (await answer.json()).error : "The server does not answer; is it still running?");
      return null;
    }
    return answer.json();
  };
  const say = (words) => {
    const note = place.querySelector(".refused") ?? place.insertBefore(document.createElement("p"), place.firstChild);
    note.className = "refused bad";
    note.setAttribute("role", "alert");
    note.textContent = words;
  };
  const markup = (html) => new DOMParser().parseFromString(html, "text/html").body;
  const show = (told, focus) => {
    place.replaceChildren(...markup(told.html).childNodes);
    history.replaceState(null, "", told.address);
    for (const link of document.querySelectorAll("form.controls input[name=grades]")) {
      link.value = new URLSearchParams(told.address.split("?")[1]).get("grades") ?? link.value;
    }
    if (focus !== undefined) choose(focus);
    lines();
  };
  const change = async (what, focus) => {
    const told = await ask(what, 5);
    if (told) show(told, focus);
  };
  // What is done is done one after the other, each on what the one before has made of the list: nothing is lost.
  let queue = Promise.resolve();
  const next = (act) => { queue = queue.then(act).catch(console.error); };
  const visit = async (address, focus) => { // another state of the same page, without leaving it
    const asked = new URLSearchParams(address.split("?")[1] ?? "");
    const bare = new URLSearchParams(asked);
    bare.delete("move");
    bare.delete("set");
    now().dataset.at = `${location.pathname}?${bare}`;
    await change({ move: asked.getAll("move"), set: asked.getAll("set") }, focus);
  };

  // ---- choosing a document ----
  let last = 0; // where the chosen one was: if it is gone, its neighbour is chosen
  const choose = (which) => {
    const all = cards();
    const at = typeof which === "number" ? which : all.findIndex((each) => each.dataset.doc === which);
    const card = all[Math.max(0, Math.min(all.length - 1, at < 0 ? last : at))];
    if (!card) return;
    last = all.indexOf(card);
    all.forEach((each) => { each.tabIndex = each === card ? 0 : -1; });
    card.focus({ preventScroll: false });
  };
  const current = () => document.activeElement?.closest?.(".ranked .card");
  const docOf = (card) => card.dataset.doc;
  const again = (card) => cards().find((each) => each.dataset.doc === card.dataset.doc) ?? card; // after the list was made anew
  const playground = place.dataset.whatIf.startsWith("/playground");
  const kept = (doc, rank) => (playground ? rank - 1 : doc); // there, documents are named by their ranks
  const move = (card, by) => {
    const rank = parseInt(card.dataset.rank, 10);
    const end = Number.isFinite(cut()) ? cut() : cards().length;
    const to = Number.isNaN(rank) || rank > end ? (by < 0 ? Math.min(end, cards().length) : 0) : rank + by;
    return to >= 1 ? change({ move: [`${to}:${docOf(card)}`] }, kept(docOf(card), to)) : undefined;
  };
  const grade = (card, value) => change({ set: [`${value}:${docOf(card)}`] }, kept(docOf(card), parseInt(card.dataset.rank, 10)));

  place.addEventListener("change", ({ target }) => {
    const { value } = target, card = target.closest(".card");
    if (target.matches("select.grade")) next(() => grade(card, value));
  });
  place.addEventListener("click", (event) => {
    const button = event.target.closest(".up, .down");
    if (button) {
      const card = button.closest(".card");
      next(() => move(again(card), button.matches(".up") ? -1 : 1));
      return;
    }
    const link = event.target.closest("a[data-go], a[data-as-it-was]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      next(() => visit(link.getAttribute("href"), last));
    }
  });

  // ---- keys ----
  const keys = document.getElementById("single-keys");
  try { keys.checked = localStorage.getItem("rankgauge-keys") !== "off"; } catch { /* nothing is remembered */ }
  keys.addEventListener("change", () => {
    try { localStorage.setItem("rankgauge-keys", keys.checked ? "on" : "off"); } catch { /* not remembered */ }
  });
  const step = (name) => document.querySelector(`[data-step=${name}]`)?.click();
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || help.open) return;
    const typing = event.target.matches("input, textarea, select");
    const vertical = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (drag) { if (event.key === "Escape") { event.preventDefault(); drag.cancel(); } return; }
    if (vertical && !typing) {
      const card = current();
      if (!card) { if (!event.altKey && event.target === document.body) { event.preventDefault(); choose(0); } return; }
      event.preventDefault();
      next(() => (event.altKey ? move(current() ?? again(card), vertical) : choose(cards().indexOf(current() ?? again(card)) + vertical)));
      return;
    }
    if (event.altKey || typing) return;
    if (event.key === "Escape") {
      event.preventDefault();
      next(() => (location.pathname + location.search !== given ? visit(given, last) : undefined));
      return;
    }
    if (event.key === "?") { event.preventDefault(); help.showModal(); return; }
    if (!keys.checked || event.repeat) return;
    if (event.key === "j") step("next");
    else if (event.key === "k") step("previous");
    else if (current() && (/^[0-9]$/.test(event.key) || event.key === "u")) { event.preventDefault(); next(() => grade(current() ?? cards()[last], event.key)); }
  });

  // ---- drag, by mouse and by finger ----
  place.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest(".handle");
    if (!handle || event.button > 0 || drag) return; // one finger at a time
    event.preventDefault();
    drag = started(handle.closest(".card"), event);
  });
  const started = (card, begin) => {
    const box = card.getBoundingClientRect(), ol = list(), before = [...ol.children], low = card.matches(".low");
    const start = parseInt(card.dataset.rank, 10), line = ol.querySelector(".cut.line");
    const mine = (act) => (event) => { if (event.pointerId === begin.pointerId) drag?.[act](event); };
    const heard = { pointermove: mine("move"), pointerup: mine("drop"), pointercancel: mine("cancel") };
    let to = null, timer = null; // the rank that it would have; null: where it was
    card.classList.add("dragged");
    for (const [name, act] of Object.entries(heard)) document.addEventListener(name, act);
    const end = () => {
      clearTimeout(timer);
      for (const [name, act] of Object.entries(heard)) document.removeEventListener(name, act);
      card.classList.remove("dragged");
      card.style.transform = "";
      drag = null;
    };
    const back = () => {
      ol.replaceChildren(...before);
      for (const each of before) if (each.dataset.rank) each.querySelector(".rank").textContent = each.dataset.rank;
    };
    const arrange = (y) => { // the list as it would be, every row with its right rank, before the server has answered
      card.style.transform = "";
      const others = [...ol.children].filter((each) => each !== card && each.matches(".card"));
      const following = others.find((each) => { const its = each.getBoundingClientRect(); return y < its.top + its.height / 2; });
      const below = following ? following.matches(".low") : others.some((each) => each.matches(".low")) || y > (line?.getBoundingClientRect().bottom ?? Infinity);
      if (below && low) { back(); return null; } // it stays where it is until it passes the line
      ol.insertBefore(card, below ? ol.querySelector(".card.low:not(.dragged)") : following ?? line);
      const ranked = [...ol.querySelectorAll(".card")].filter((each) => each === card ? !below : !each.matches(".low"));
      if (line) ranked[Math.min(ranked.length, cut()) - 1]?.after(line);
      if (below) ol.insertBefore(card, line.nextSibling);
      ranked.forEach((each, at) => { each.querySelector(".rank").textContent = at + 1; });
      const rank = below ? cut() + 1 : ranked.indexOf(card) + 1;
      card.querySelector(".rank").textContent = rank;
      return rank === start ? null : rank;
    };
    return {
      move({ clientY: y }) {
        const rank = arrange(y);
        card.style.transform = `translateY(${y - (begin.clientY - box.top) - card.getBoundingClientRect().top}px)`;
        if (y < 60) scrollBy(0, -20);
        else if (y > innerHeight - 60) scrollBy(0, 20);
        if (rank === to) return;
        to = rank;
        clearTimeout(timer);
        timer = setTimeout(async () => { // while dragging no suggestions are computed
          const told = await ask(to === null ? {} : { move: [`${to}:${docOf(card)}`] }, 0);
          if (told && drag) glimpse(told);
        }, 40);
      },
      drop() {
        const rank = to;
        end();
        if (rank === null) this.leave();
        else next(() => change({ move: [`${rank}:${docOf(card)}`] }, kept(docOf(card), rank)));
      },
      cancel() {
        end();
        this.leave();
      },
      leave() { // everything as it was before the drag; whatever is on its way is not shown
        sent += 1;
        back();
        next(() => visit(location.pathname + location.search, docOf(card)));
      },
    };
  };
  const glimpse = (told) => { // the score and what each rank adds, while the list stays in the hand
    const next = markup(told.html);
    now().querySelector(".score").replaceChildren(...next.querySelector(".score").childNodes);
    if (playground) {
      const fresh = [...next.querySelectorAll(".ranked .card")];
      cards().forEach((card, at) => take(card, fresh[at]));
    } else {
      const fresh = new Map([...next.querySelectorAll(".ranked .card")].map((card) => [card.dataset.doc, card]));
      cards().forEach((card) => take(card, fresh.get(card.dataset.doc)));
    }
    lines();
  };
  const take = (card, fresh) => {
    if (!fresh) return;
    for (const part of [".rank", ".division", ".adds"]) {
      const [mine, its] = [card.querySelector(part), fresh.querySelector(part)];
      if (mine && its) mine.textContent = its.textContent;
    }
    const [bar, its] = [card.querySelector(".adds-bar rect"), fresh.querySelector(".adds-bar rect")];
    if (bar && its) bar.setAttribute("width", its.getAttribute("width"));
  };

  // ---- lines from where a document is to where it should be ----
  const lines = () => {
    const picture = place.querySelector(".lines"), beside = place.querySelector(".beside");
    if (!picture || !beside) return;
    const frame = picture.getBoundingClientRect();
    picture.replaceChildren();
    if (frame.width < 8) return;
    picture.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    const ranked = new Map(cards().map((card) => [card.dataset.doc, card]));
    for (const goal of place.querySelectorAll(".ideal .card")) {
      const from = ranked.get(goal.dataset.doc);
      if (!from) continue;
      const [a, b] = [from, goal].map((card) => { const box = card.getBoundingClientRect(); return box.top + box.height / 2 - frame.top; });
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      const half = frame.width / 2;
      path.setAttribute("d", `M0 ${a}C${half} ${a} ${half} ${b} ${frame.width} ${b}`);
      path.setAttribute("class", from.matches(".low") ? "away" : "there");
      picture.append(path);
    }
  };
  addEventListener("resize", lines);
  lines();
  document.fonts?.ready.then(lines);
})();
