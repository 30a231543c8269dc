"use strict";
// Disagreements, one after the other: a grade decides, is kept under a key of its own, and the next one is there.
(() => {
  const GUARD = 200; // ms after a new card in which a key is one for the last
  const AHEAD = 2;
  const start = () => {
    const place = document.getElementById("decide");
    if (!place || place.dataset.started || !place.querySelector("[data-part=columns]")) return;
    place.dataset.started = "";
    begin(place);
  };
  document.addEventListener("filled", start);

  const begin = async (place) => {
    const part = (name) => place.querySelector(`[data-part=${name}]`);
    const about = { task: place.dataset.task, measure: place.dataset.measure, among: place.dataset.among };
    const asked = (path, more = {}) => {
      const given = Object.entries({ ...about, ...more }).filter(([, value]) => value);
      return `${path}?${new URLSearchParams(given)}`;
    };
    const load = async (address) => {
      for (let wait = 300; ; wait = Math.min(5000, wait * 2)) {
        const answer = await fetch(address).catch(() => null);
        if (answer?.ok) {
          const told = await answer.json();
          if (!told.pending) return told;
        } else if (answer && answer.status !== 503) {
          const told = await answer.json().catch(() => ({}));
          if (answer.status === 401 && told.login) location.href = told.login;
          return { error: told.error ?? `The server says ${answer.status}.` };
        }
        await new Promise((on) => setTimeout(on, wait));
      }
    };
    const told = await load(asked("/adjudicate.json"));
    if (told.error) { part("wait").textContent = told.error; return; }
    const wanted = (each) => each.query_id === place.dataset.query && each.doc_id === place.dataset.doc;
    const again = told.decided.filter(wanted).map((each) => ({ // what was decided, to be decided otherwise
      ...each, given: each.given.map((label) => ({ ...label, state: "no grade", note: "" })),
      whose: each.given, decided: each.grade, sentNote: each.note, outcome: null, skipped: false,
    }));
    const open = [...again, ...told.open.map((each) => ({ ...each, note: "", decided: null, whose: null, outcome: null, skipped: false }))];
    const scale = told.scale;

    // ---- texts of pairs, some ahead ----
    const texts = new Map();
    const textOf = (at) => {
      const each = open[at];
      if (!texts.has(each)) texts.set(each, load(asked("/adjudicate/pair.json", { query: each.query_id, doc: each.doc_id })));
      return texts.get(each);
    };

    // ---- what is shown ----
    const make = (name, words = "", look = "") => card.made(name, { text: words, className: look });
    const level = (grade) => scale.find((each) => each.grade === grade);
    const chip = (grade, state) => {
      const made = make("span", grade === null ? "?" : level(grade)?.text ?? String(grade), `chip ${grade === null ? "unsure" : card.hue(scale, grade)}`);
      if (grade === null) made.title = state === "unsure" ? "can’t tell" : state;
      return made;
    };
    const document_ = (fields, each) => [
      ...card.contents(fields, "h3"),
      ...(fields.length ? [] : [make("p", "The project has no text of this document.", "note")]),
      card.identity(each.doc_id),
    ];
    const number = (value, sign) => {
      const text = Math.abs(value).toFixed(4);
      return `${Number(text) === 0 ? "" : value < 0 ? "−" : sign ? "+" : ""}${text}`;
    };
    const given = (list, each) => {
      const names = new Map((each.whose ?? []).map((who) => [who.letter, who]));
      list.replaceChildren(...each.given.map((label) => {
        const row = make("li"), who = names.get(label.letter);
        row.append(make("b", label.letter), chip(label.grade, label.state));
        const words = make("span", "", "words");
        const name = make("bdi", who ? who.judge : label.grade === null ? (label.state === "unsure" ? "can’t tell" : label.state) : level(label.grade)?.name ?? "");
        words.append(name);
        if (who && who.kind !== "person") words.append(make("span", ` ${who.kind}`, "kind"));
        if (label.outdated) words.append(make("span", " of an older text", "kind"));
        if (label.note) { const note = make("q", label.note); note.dir = "auto"; words.append(note); }
        row.append(words);
        return row;
      }));
    };
    const last = (each) => {
      part("last").hidden = false;
      part("last-pair").replaceChildren(make("bdi", each.query_id), " · ", make("bdi", each.doc_id), " ", chip(each.decided, "graded"));
      given(part("last-given"), each);
      const table = part("outcome"), rows = each.outcome ?? [];
      table.hidden = !rows.length;
      table.caption.textContent = `What it does to the mean ${told.measure}`;
      table.tBodies[0].replaceChildren(...rows.map((run) => {
        const row = make("tr"), change = run.after - run.before;
        const head = make("th");
        head.scope = "row";
        head.append(make("bdi", run.run));
        row.append(head, make("td", number(run.after)), make("td", number(change, true), Math.abs(change) < 5e-5 ? "quiet" : ""));
        return row;
      }));
    };
    let at = -1, since = 0, hiddenFor = 0, hiddenAt = 0;
    let shows = 0, phase = "loading"; // of the card: loading, there, or missing where the server has no text to give
    const WAIT = "One moment …";
    const there = (skipping = false) => { // whether the document is seen: nobody decides about another one
      if (!open[at]) return false;
      if (phase === "there" || (skipping && phase === "missing")) return true;
      say(phase === "loading" ? WAIT : "This document could not be shown. Skip it, and it comes back at the end.", true);
      return false;
    };
    const visible = () => open.filter((each) => each.decided !== null).length;
    const count = () => { part("done").textContent = visible(); part("bar").value = visible(); };
    const show = async (next, back = false) => {
      closeNote(false); // of the one that was there
      at = next;
      const each = open[at], turn = shows += 1;
      phase = "loading";
      delete place.dataset.shown;
      part("sheet").setAttribute("aria-busy", "true");
      part("query").textContent = "…";
      part("need").textContent = "";
      part("need").hidden = true;
      part("paper").replaceChildren(make("p", WAIT, "computing"));
      part("end").hidden = true;
      part("columns").hidden = false;
      part("place").textContent = `Disagreement ${at + 1} of ${open.length}${each.decided !== null ? " · decided" : each.skipped ? " · skipped before" : ""}`;
      given(part("given"), each);
      const grades = each.given.map((label) => label.grade).filter((grade) => grade !== null);
      const ends = [Math.min(...grades), Math.max(...grades)].map((grade) => level(grade)?.text ?? grade);
      part("effect").textContent = each.by ? `${each.by} decided for ${level(each.grade)?.text ?? each.grade} on ${each.at.slice(0, 10)}. Another grade replaces it.`
        : each.effect === null
        ? `${ends[1]} is ${each.apart} more than ${ends[0]}; there is no run on which to see what that does.`
        : `Between ${ends[0]} and ${ends[1]} the mean ${told.measure} of a system changes by up to ${number(each.effect)}.`;
      for (const button of part("levels").children) button.setAttribute("aria-pressed", String(Number(button.dataset.grade) === each.decided));
      place.querySelector("[data-act=note]").classList.toggle("filled", Boolean(each.note));
      if (back && each.whose) last(each);
      const text = await textOf(at);
      if (turn !== shows) return; // somebody went on
      if (part("flash").textContent === WAIT) say("");
      if (text.error) {
        texts.delete(each); // asked for again when it comes back
        part("query").textContent = each.query_id;
        part("paper").replaceChildren(card.identity(each.doc_id));
        say(text.error, true);
      } else {
        part("query").textContent = text.query;
        part("need").textContent = text.need ?? "";
        part("paper").replaceChildren(...document_(text.fields, each));
      }
      part("need").hidden = !part("need").textContent;
      part("paper").scrollTop = 0;
      const top = part("strip").getBoundingClientRect().top;
      const small = past.length && matchMedia("(max-width: 62rem)").matches; // once begun, the head of the page is in the way
      if (top < 0 || small) scrollBy({ top: top - 12, behavior: "instant" });
      part("sheet").removeAttribute("aria-busy");
      since = performance.now();
      hiddenFor = 0;
      phase = text.error ? "missing" : "there";
      place.dataset.shown = JSON.stringify([each.query_id, each.doc_id]);
      part("paper").focus({ preventScroll: true });
      for (let ahead = 1; ahead <= AHEAD; ahead += 1) if (open[at + ahead]) textOf(at + ahead);
    };
    const say = (words, loud = false) => {
      part("flash").textContent = words;
      part("flash").classList.toggle("loud", loud);
    };
    const onwards = () => {
      const rest = [...open.keys()].map((step) => (at + 1 + step) % open.length).filter((each) => open[each].decided === null);
      const fresh = rest.find((each) => !open[each].skipped);
      if (rest.length) { show(fresh ?? rest[0]); return; }
      part("columns").hidden = false;
      part("sheet").hidden = true;
      part("given-box").hidden = true;
      part("end").hidden = false;
      part("end-words").textContent = `${open.length} ${open.length === 1 ? "disagreement is" : "disagreements are"} settled; what was decided counts from now on.`;
      part("end").focus();
      closeNote(false);
      at = open.length;
      shows += 1;
      delete place.dataset.shown;
    };
    const past = []; // where one was, to go back to
    const back = () => {
      if (!past.length) { say("There is nothing before this one.", true); return; }
      part("sheet").hidden = false;
      part("given-box").hidden = false;
      show(past.pop(), true);
      say("");
    };

    // ---- keeping: in the order in which it was decided, until it is acknowledged ----
    const queue = [];
    const kept = `rankgauge-decisions ${JSON.stringify([place.dataset.person, about.task])}`;
    const save = () => {
      try {
        if (queue.length) localStorage.setItem(kept, JSON.stringify(queue.map(({ body }) => body)));
        else localStorage.removeItem(kept);
      } catch { /* it is in this page, and sent as long as that is there */ }
    };
    let sending = false, leaving = false;
    const state = (words, kind) => { part("state").textContent = words; part("state").dataset.state = kind; };
    const keep = async () => {
      if (sending) return;
      sending = true;
      for (let wait = 500; queue.length;) {
        const { each, body } = queue[0];
        state("Saving …", "busy");
        const answer = await fetch("/adjudicate", {
          method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
        }).catch(() => null);
        if (!answer || answer.status >= 500 || answer.status === 429) {
          state(`Not saved: ${queue.length}; trying again`, "warn");
          await new Promise((on) => setTimeout(on, wait));
          wait = Math.min(15_000, wait * 2);
          continue;
        }
        const told = await answer.json().catch(() => ({ error: `The server says ${answer.status}.` }));
        if (answer.status === 401 && told.login) { // what waits is in the browser, and is sent after the log-in
          leaving = true;
          location.href = told.login;
          return;
        }
        queue.shift();
        save();
        wait = 500;
        if (!answer.ok) { refused(each, told.error); continue; }
        each.whose = told.given;
        each.outcome = told.outcome;
        if (open.includes(each)) last(each);
      }
      sending = false;
      if (part("state").dataset.state !== "bad") state("Saved", "good");
    };
    const refused = (each, words) => {
      if (!open.includes(each)) { say(words, true); return; }
      each.decided = each.grade ?? null; // as it was before
      count();
      state("Not saved", "bad");
      part("sheet").hidden = false;
      part("given-box").hidden = false;
      show(open.indexOf(each));
      say(words, true);
    };
    addEventListener("beforeunload", (event) => { if (queue.length && !leaving) event.preventDefault(); });
    const secret = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const decide = (grade) => {
      if (!there()) return;
      const each = open[at];
      const ms = Math.max(0, Math.round(performance.now() - since - hiddenFor));
      if (each.decided === grade && each.sentNote === each.note) { past.push(at); onwards(); return; } // as it was
      each.decided = grade;
      each.sentNote = each.note;
      each.skipped = false;
      queue.push({ each, body: { ...about, key: secret(), query_id: each.query_id, doc_id: each.doc_id, grade, note: each.note, ms, seen: told.last } });
      save();
      count();
      say("");
      past.push(at);
      keep();
      onwards();
    };

    const restore = () => { // what was decided before a log-in, and not sent
      let waiting = [];
      try { waiting = JSON.parse(localStorage.getItem(kept) ?? "[]"); } catch { /* nothing waits */ }
      for (const body of waiting) {
        const each = open.find((one) => one.query_id === body.query_id && one.doc_id === body.doc_id) ?? { ...body };
        Object.assign(each, { decided: body.grade, note: body.note, sentNote: body.note });
        queue.push({ each, body });
      }
      if (queue.length) keep();
    };

    // ---- notes ----
    const note = document.getElementById("decide-note");
    const closeNote = (focus = true) => {
      if (part("note").hidden) return;
      if (open[at]) open[at].note = note.value.trim();
      part("note").hidden = true;
      const button = place.querySelector("[data-act=note]");
      button.setAttribute("aria-expanded", "false");
      button.classList.toggle("filled", Boolean(open[at]?.note));
      if (focus) part("paper").focus({ preventScroll: true });
    };
    const openNote = () => {
      note.value = open[at].note;
      part("note").hidden = false;
      place.querySelector("[data-act=note]").setAttribute("aria-expanded", "true");
      note.focus();
    };
    part("note").addEventListener("submit", (event) => { event.preventDefault(); closeNote(); });
    note.addEventListener("input", () => { if (open[at]) open[at].note = note.value.trim(); });

    // ---- keys and buttons ----
    const help = part("help"), single = part("single");
    single.checked = card.singleKeys.get();
    single.addEventListener("change", () => card.singleKeys.set(single.checked));
    const acts = {
      skip: () => { if (!there(true)) return; open[at].skipped = true; past.push(at); onwards(); say("Skipped; it comes back at the end."); },
      note: () => { if (!part("note").hidden) closeNote(); else if (there()) openNote(); },
      back,
      marks: () => {
        const off = place.classList.toggle("unmarked");
        place.querySelector("[data-act=marks]").setAttribute("aria-pressed", String(!off));
      },
      help: () => help.showModal(),
    };
    const letters = { s: acts.skip, n: acts.note, u: back, h: acts.marks };
    const grade = (chosen, event) => {
      if (!there()) return;
      if (event.timeStamp - since < GUARD) {
        part("paper").classList.remove("ignored");
        void part("paper").offsetWidth;
        part("paper").classList.add("ignored");
        say(`${event.key} came too soon after a new document; press it again.`, true);
      } else decide(chosen.grade);
    };
    const meaning = (sign, event) => {
      const chosen = open[at] && scale.find((each) => each.key === sign);
      return chosen ? () => grade(chosen, event) : open[at] || letters[sign] === back ? letters[sign] : undefined;
    };
    document.addEventListener("keydown", (event) => {
      if (help.open || event.altKey) return;
      if (event.target === note) {
        if (event.key === "Escape" || (event.key === "Enter" && !event.shiftKey && !event.isComposing)) { event.preventDefault(); closeNote(); }
        return;
      }
      if (event.target.matches("input, textarea, select")) return;
      const undo = event.key === "Backspace" || ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z");
      if (undo) { event.preventDefault(); if (!event.repeat) back(); return; }
      if (event.ctrlKey || event.metaKey || event.repeat || event.isComposing) return;
      if (event.key === "?") { event.preventDefault(); acts.help(); return; }
      const act = single.checked ? card.keyed(event, (sign) => meaning(sign, event)) : undefined;
      if (act) { event.preventDefault(); act(); }
    });
    place.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button?.dataset.grade !== undefined) decide(Number(button.dataset.grade));
      else if (button?.dataset.act) acts[button.dataset.act]();
    });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) hiddenAt = performance.now();
      else hiddenFor += performance.now() - Math.max(hiddenAt, since);
    });

    part("levels").dataset.many = scale.length > 6 ? "many" : "few";
    part("levels").replaceChildren(...card.buttons(scale));
    part("keys").replaceChildren(...scale.map((each) => make("kbd", each.key.toUpperCase())));
    part("wait").hidden = true;
    part("strip").hidden = false;
    part("of").textContent = open.length;
    part("bar").max = open.length || 1;
    state("", "good");
    restore();
    count();
    if (open.some(wanted)) show(open.findIndex(wanted));
    else if (open.length) { at = -1; onwards(); } else location.reload();
  };
  start();
})();
