"use strict";
// The page on which people judge, with a server or alone as one file. No label is lost: each has a key of its own, is
// kept in the browser first, and is sent until the server says that it has it.
(() => {
  const root = document.getElementById("judge");
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const button = (act) => root.querySelector(`[data-act="${act}"]`);
  const data = document.getElementById("judge-data");
  const alone = data ? JSON.parse(data.textContent) : null; // the file, with everything in it
  const GUARD = 200, AHEAD = 3, PATIENCE = 30000, SLOWEST = 30000;
  const { made, sentence, cut } = card;
  const hue = (grade) => card.hue(levels, grade);
  const count = (number, one, several) => `${number.toLocaleString("en")} ${number === 1 ? one : several}`;
  const uuid = () => {
    if (crypto.randomUUID) return crypto.randomUUID();
    const bytes = crypto.getRandomValues(new Uint8Array(16)); // a page of plain http has no randomUUID
    return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };

  // ---- what the browser keeps ----
  const kept = {
    get(name) { try { return JSON.parse(localStorage.getItem(name)); } catch { return null; } },
    set(name, value) { try { localStorage.setItem(name, JSON.stringify(value)); return true; } catch { return false; } },
    remove(name) { try { localStorage.removeItem(name); } catch { /* it was not kept either */ } },
    all(prefix) {
      try { return Object.keys(localStorage).filter((name) => name.startsWith(prefix)).map((name) => this.get(name)).filter(Boolean); } catch { return []; }
    },
  };
  let task, rater, levels, prefix; // prefix: of this task and this rater, who are not mixed with others
  let queries, at, state, queue, loose, aside, trail, progress, times, sequence;
  let exhausted, asking, halted, offline, begun, running = 0;
  const blank = () => {
    given([]); // hand-outs in the order in which they came; of the file, all
    at = null; // the pair that is shown, with its query
    state = { at: null, skipped: [], drafts: {} };
    queue = []; // judgments that the server does not have yet, the first one first
    loose = new Set(); // keys of judgments that the browser could not keep
    aside = []; // judgments that were refused, and were put aside
    trail = []; // pairs in the order in which they were left
    progress = { judged: 0, of: 0, grades: [] }; // grades: how often the server has which from this rater
    times = [];
    sequence = 1;
    exhausted = asking = halted = offline = begun = false;
  };
  const remember = () => { if (!kept.set(`${prefix}state`, state)) unkept(); };
  const unkept = () => {
    const words = alone
      ? "This browser keeps nothing for this page (storage is forbidden or full). Export your grades before you close it."
      : "This browser keeps nothing for this page (storage is forbidden or full). Grades are still sent; stay on the page until all are saved.";
    part("unkept").textContent = words;
    part("unkept").hidden = false;
  };

  // ---- pairs ----
  const name = (query, pair) => JSON.stringify([query.id, pair.doc_id]);
  let ones = [], named = new Map(); // all pairs with their queries, and the same by name
  const given = (several) => {
    queries = several;
    ones = queries.flatMap((query) => query.pairs.map((pair) => ({ query, pair, name: name(query, pair) })));
    named = new Map(ones.map((one) => [one.name, one]));
  };
  const found = (wanted) => named.get(wanted) ?? null;
  const skips = () => new Set(state.skipped.map((one) => one.pair));
  const isOpen = (one, skipped) => !one.pair.mine && !skipped.has(one.name);
  const next = () => { // of this query what follows, then what was passed over; then the others; then what was skipped
    const skipped = skips(), mine = at ? ones.filter((one) => one.query === at.query) : [], place = mine.indexOf(at);
    const wanted = (one) => isOpen(one, skipped);
    const open = mine.slice(place + 1).find(wanted) ?? mine.find(wanted) ?? ones.find(wanted);
    if (open) return open;
    const later = state.skipped.map((one) => found(one.pair)).filter((one) => one && !one.pair.mine);
    return exhausted || offline || alone ? later[0] ?? null : null;
  };
  const left = (one) => { // it was judged or skipped, so that one can go back to it
    const was = trail.indexOf(one);
    if (was >= 0) trail.splice(was, 1);
    trail.push(one);
  };
  const same = (a, b) => Boolean(a && b) && a.state === b.state && a.grade === b.grade && (a.note ?? "") === (b.note ?? "");

  // ---- judging ----
  let shownAt = 0, hidden = 0, hiddenAt = null; // milliseconds of the card, without those in which nobody saw it
  const spent = () => Math.max(0, Math.round(performance.now() - shownAt - hidden - (hiddenAt === null ? 0 : performance.now() - hiddenAt)));
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) hiddenAt ??= performance.now();
    else if (hiddenAt !== null) { hidden += performance.now() - Math.max(hiddenAt, shownAt); hiddenAt = null; }
  });
  const noteOf = (one) => state.drafts[one.name] ?? one.pair.mine?.note ?? "";
  const give = (one, given) => { // a judgment: kept, then sent
    const { query, pair } = one;
    const item = {
      key: uuid(), query_id: query.query_id, doc_id: pair.doc_id, hash: pair.hash ?? null, again: Boolean(query.again), ...given,
      ms: spent(), made: new Date().toISOString(), sequence: sequence++, pair: one.name, fresh: !pair.mine,
    };
    const first = !pair.mine;
    pair.mine = { ...given };
    pair.key = item.key;
    delete state.drafts[one.name];
    state.skipped = state.skipped.filter((each) => each.pair !== one.name);
    if (first) { left(one.name); times.push(item.ms); }
    keep(item);
    remember();
    if (alone) progress.judged += first ? 1 : 0;
    else { queue.push(item); send(); }
  };
  const keep = (item) => {
    const where = alone ? `${prefix}row:${item.pair}` : `${prefix}wait:${item.key}`;
    if (kept.set(where, item)) { rows.delete(item.pair); return; }
    loose.add(item.key);
    if (alone) rows.set(item.pair, item);
    unkept();
  };
  const judge = (given) => {
    if (!at || halted) return;
    const all = { ...given, note: noteOf(at) };
    if (!same(at.pair.mine, all)) give(at, all);
    flash("");
    go();
  };
  const skip = () => {
    if (!at || halted) return;
    if (at.pair.mine) { flash("This one has a grade already; another key replaces it."); return; }
    state.skipped = [...state.skipped.filter((one) => one.pair !== at.name), { pair: at.name, key: uuid(), ms: spent(), made: new Date().toISOString() }];
    left(at.name);
    remember();
    const was = at.name;
    go();
    if (at?.name === was) flash("This is the only one left. Grade it, or press X if you can’t tell.");
  };
  const back = async () => {
    if (halted) return;
    const here = at ? trail.indexOf(at.name) : trail.length;
    const before = trail[(here < 0 ? trail.length : here) - 1];
    let one = before ? found(before) : null;
    if (!one && at) {
      one = ones[ones.indexOf(at) - 1] ?? null;
      if (!one && await earlier()) one = ones[ones.indexOf(found(at.name)) - 1] ?? null;
    }
    if (one) show(one);
    else flash("This is the first one.");
  };
  const go = () => {
    turnTo(null);
    more();
  };
  const turnTo = (wanted) => { // a pair; else what is next; where nothing is, the end
    const one = wanted ?? next();
    if (one) show(one);
    else if (alone || (exhausted && !queue.length)) end();
    else nothing();
  };

  // ---- sending, one after the other ----
  let before = Promise.resolve(); // one request at a time, so that nothing is counted by the server and here as well
  const ask = (where, body) => (before = before.then(() => answered(where, body)));
  const answered = async (where, body) => { // the answer, or what became of it
    const stop = new AbortController(), timer = setTimeout(() => stop.abort(), PATIENCE);
    try {
      const answer = await fetch(where, {
        method: body ? "POST" : "GET", headers: { accept: "application/json", ...(body && { "content-type": "application/json" }) },
        body: body && JSON.stringify(body), redirect: "error", signal: stop.signal,
      });
      const told = await answer.json().catch(() => null);
      if (answer.ok && told) return { told };
      if (answer.status === 401) return { login: told?.login ?? "/login" };
      const refused = answer.status >= 400 && answer.status < 500 && ![408, 425, 429].includes(answer.status);
      return refused ? { refused: told?.error ?? `The server refused it (${answer.status}).` } : { away: told?.error ?? "" };
    } catch {
      return { away: "" };
    } finally {
      clearTimeout(timer);
    }
  };
  const waits = { open: 0, send: 0, more: 0 };
  const timers = {};
  const later = (what, act) => { // with back-off, and at once when the network is back
    waits[what] = Math.min(SLOWEST, waits[what] * 2 || 500);
    clearTimeout(timers[what]);
    timers[what] = setTimeout(act, waits[what] * (0.75 + Math.random() / 2));
  };
  let sending = false;
  const send = async () => {
    if (sending || halted || alone || !queue.length) { tell(); return; }
    sending = true;
    tell();
    const turn = running, item = queue[0];
    const { sequence: _, pair, fresh, ...body } = item;
    const { told, login, refused, away } = await ask("/judge/judgment", { task, ...body });
    sending = false;
    if (turn !== running) return; // another tab has taken over
    if (login) { loggedOut(login); return; }
    if (refused !== undefined) { refusal(refused, item); return; }
    if (!told || told.key !== item.key) { // a server that says something else is not ours
      offline = true;
      tell();
      later("send", send);
      return;
    }
    offline = false;
    waits.send = 0;
    queue.shift();
    kept.remove(`${prefix}wait:${item.key}`);
    loose.delete(item.key);
    if (fresh && !item.again) progress.judged += 1;
    const one = found(pair);
    if (one && told.models) one.pair.models = told.models;
    tell();
    if (queue.length) send();
    else if (!at && part("end").hidden) { exhausted = false; more(); } // the last one is saved: is there more?
  };
  addEventListener("online", () => { for (const [what, act] of [["send", send], ["more", more]]) { clearTimeout(timers[what]); act(); } });

  // ---- hand-outs ----
  const ahead = () => {
    const skipped = skips();
    return queries.filter((query) => query !== at?.query && query.pairs.some((pair) => isOpen({ pair, name: name(query, pair) }, skipped))).length;
  };
  const have = () => queries.slice(-100).map((query) => query.id);
  const more = async () => {
    if (alone || asking || halted || exhausted || ahead() >= AHEAD) return;
    asking = true;
    const turn = running;
    const answer = await ask("/judge/queries", { task, have: have(), ahead: AHEAD, before: queries.length ? 0 : 1 });
    if (turn !== running) return;
    asking = false;
    if (answer.login) { loggedOut(answer.login); return; }
    if (answer.refused !== undefined) { refusal(answer.refused, null); return; }
    if (!answer.told?.queries) {
      offline = true;
      tell();
      if (!at) turnTo(null);
      later("more", more);
      return;
    }
    waits.more = 0;
    if (!queue.length) offline = false;
    exhausted = !taken(answer.told).some((query) => !query.done);
    tell();
    if (!at) turnTo(begun ? null : found(state.at));
    begun = true;
    if (at && !exhausted && ahead() < AHEAD) later("more", more);
  };
  const earlier = async () => { // hand-outs that were done before this visit
    if (alone || asking || halted) return false;
    asking = true;
    const { told } = await ask("/judge/queries", { task, have: have(), ahead: 0, before: 10 });
    asking = false;
    return Boolean(told?.queries && taken(told).length);
  };
  const taken = (told) => { // hand-outs that are new here; those that are done stand before the others
    const known = new Set(queries.map((query) => query.id));
    const fresh = told.queries.filter((query) => !known.has(query.id));
    given([...fresh.filter((query) => query.done), ...queries, ...fresh.filter((query) => !query.done)]);
    if (at) at = found(at.name);
    for (const item of queue) { const one = found(item.pair); if (one) one.pair.mine = { state: item.state, grade: item.grade, note: item.note }; }
    if (fresh.length) {
      const left = new Set(trail);
      const before = ones.filter((one) => one.pair.mine && !left.has(one.name)).map((one) => one.name);
      trail = [...before, ...trail];
    }
    if (told.progress) progress = told.progress;
    narrowed(told.narrowed);
    return fresh;
  };

  // ---- stops, which say what to do ----
  const halt = (title, why, ways, words) => {
    halted = true;
    part("halt-title").textContent = title;
    part("halt-why").textContent = ended(why);
    const waiting = queue.length + aside.length;
    part("halt-kept").textContent = words ?? (!waiting ? "Everything that you have judged is saved."
      : loose.size ? `${count(waiting, "grade waits", "grades wait")} here to be sent. Do not close this page.`
        : `${count(waiting, "grade waits", "grades wait")} here to be sent; this browser keeps ${waiting === 1 ? "it" : "them"}, also when the page is closed.`);
    part("halt-ways").replaceChildren(...ways.filter(Boolean).map(([words, act], place) => {
      const way = made("button", { type: "button", text: words, className: place ? "button" : "primary" });
      way.addEventListener("click", act);
      return way;
    }));
    for (const dialog of root.querySelectorAll("dialog[open]")) dialog.close();
    part("halt").showModal();
    part("halt-ways").firstElementChild?.focus();
    tell();
  };
  const resume = () => { halted = false; part("halt").close(); send(); if (!at) go(); else more(); };
  part("halt").addEventListener("cancel", (event) => event.preventDefault());
  const refusal = (words, item) => halt("This was not taken", words, [
    ["Try again", resume],
    item && ["Set this one aside and go on", () => { setAside(item); resume(); }],
    (queue.length || aside.length) && ["Download what waits", () => download(`waiting-${rater}.jsonl`, [...aside, ...queue].map(exported))],
  ]);
  const setAside = (item) => { // it stays in the browser, and can be downloaded
    queue = queue.filter((each) => each !== item);
    aside.push(item);
    kept.remove(`${prefix}wait:${item.key}`);
    if (!kept.set(`${prefix}aside:${item.key}`, item)) unkept();
  };
  const loggedOut = (where) => {
    const to = new URL(where, location.href);
    const login = new URL(to.origin === location.origin ? to.pathname : "/login", location.origin);
    login.searchParams.set("to", location.pathname + location.search);
    halt("You are logged out", "Log in again, and judging goes on where it was.", [
      loose.size
        ? ["Log in, in another tab", () => { open(login, "_blank", "noopener"); part("halt-ways").lastElementChild.focus(); }]
        : ["Log in", () => { location.assign(login); }],
      ["I have logged in: go on", resume],
    ]);
  };

  // ---- what is seen ----
  const shown = (which) => { for (const each of ["opening", "who", "columns"]) part(each).hidden = each !== which; part("strip").hidden = which !== "columns"; };
  const pace = () => {
    const last = times.slice(-30), total = last.reduce((sum, each) => sum + each, 0);
    if (last.length < 3 || !total) return "";
    const rate = 60000 * last.length / total, minutes = (progress.of - progress.judged - fresh()) / rate;
    const text = `${rate < 10 ? rate.toFixed(1) : Math.round(rate)} a minute`;
    if (last.length < 5 || minutes <= 0) return text;
    return `${text} · ${minutes < 1.5 ? "a minute" : minutes < 90 ? `${Math.round(minutes)} minutes` : `${Math.round(minutes / 60)} hours`} left`;
  };
  const fresh = () => queue.filter((item) => item.fresh && !item.again).length;
  const tell = () => { // the state, always in sight
    const judged = progress.judged + fresh(), of = Math.max(progress.of, judged);
    part("bar").max = of || 1;
    part("bar").value = judged;
    part("judged").textContent = judged.toLocaleString("en");
    part("of").textContent = of.toLocaleString("en");
    part("pace").textContent = pace();
    const waiting = queue.length;
    const [kind, words] = alone ? (loose.size ? ["bad", "Not kept: export it"] : ["good", "Kept in this browser"])
      : halted && waiting ? ["bad", `Stopped, ${waiting.toLocaleString("en")} waiting`]
        : offline ? ["warn", waiting ? `Offline, ${waiting.toLocaleString("en")} waiting` : "Offline"]
          : waiting ? ["busy", waiting > 1 ? `Saving … ${waiting.toLocaleString("en")}` : "Saving …"]
            : ["good", "All saved"];
    const place = part("state"), text = aside.length ? `${words} · ${aside.length.toLocaleString("en")} set aside` : words;
    if (place.textContent !== text) place.textContent = text;
    place.dataset.state = kind;
    soFar();
  };
  const level = (grade) => levels.find((each) => each.grade === grade);
  const title = (pair) => {
    const field = pair.fields.find((each) => each.title) ?? pair.fields[0];
    const words = field ? field.pieces.map(([text]) => text).join("").trim().replace(/\s+/g, " ") : "";
    return words ? words.slice(0, 160) : pair.doc_id;
  };
  const chip = (one, skipped) => {
    const mine = one.pair.mine;
    if (!mine) return made("span", { className: `chip ${skipped.has(one.name) ? "skipped" : "open"}`, text: skipped.has(one.name) ? "S" : "·", title: skipped.has(one.name) ? "skipped for now" : "not judged yet" });
    if (mine.state === "unsure") return made("span", { className: "chip unsure", text: "?", title: "can’t tell" });
    return made("span", { className: `chip ${hue(mine.grade)}`, text: level(mine.grade)?.text ?? String(mine.grade), title: level(mine.grade)?.name ?? "" });
  };
  const soFar = () => {
    part("so-far").hidden = !at;
    if (!at) return;
    const skipped = skips();
    part("dots").replaceChildren(...at.query.pairs.map((pair) => {
      const one = { query: at.query, pair, name: name(at.query, pair) }, here = one.name === at.name;
      const seen = here || pair.mine || skipped.has(one.name);
      const line = made("button", { type: "button", className: "line", data: { go: one.name } }, chip(one, skipped), made("bdi", { text: seen ? title(pair) : "–", className: seen ? "" : "quiet" }), pair.mine?.note ? made("span", { className: "has-note", text: "✎", title: pair.mine.note }) : null);
      if (here) line.setAttribute("aria-current", "true");
      return made("li", {}, line);
    }));
    const here = part("dots").querySelector("[aria-current]"), top = here.offsetTop - part("dots").offsetTop;
    part("dots").scrollTop = Math.max(0, top - part("dots").clientHeight / 2);
  };
  const narrowed = (told) => {
    if (!told) return; // nobody knows yet
    part("narrowed").hidden = !(told.from > 0); // else nothing was in doubt
    if (part("narrowed").hidden) return;
    const share = Math.max(0, Math.min(1, told.to / told.from)), off = Math.round(100 * (1 - share));
    part("narrowing").textContent = `Grades so far have removed ${off < 1 ? "less than 1" : off} % of the doubt about which system is better.`;
    part("left").setAttribute("width", (100 * share).toFixed(1));
  };
  let fading;
  const flash = (words, loud = false) => {
    clearTimeout(fading);
    part("flash").textContent = words;
    part("flash").classList.toggle("loud", loud);
    if (words) fading = setTimeout(() => { part("flash").textContent = ""; }, 2600);
  };
  const ignored = () => {
    flash("Too quick: that key came within 0.2 seconds of a new document, and was ignored.", true);
    const paper = part("paper");
    paper.classList.remove("ignored");
    void paper.offsetWidth; // so that it is seen again
    paper.classList.add("ignored");
  };
  const paper = ({ pair }) => {
    const shown = [];
    if (pair.changed) shown.push(made("p", { className: "said", text: "The text of this document has changed since the task was made." }));
    shown.push(...card.contents(pair.fields, "h2"));
    if (!pair.fields.length) shown.push(made("p", { className: "quiet", text: "There is no text of this document here, only its id. Press X if you can’t tell by it." }));
    shown.push(card.identity(pair.doc_id));
    if (pair.mine && pair.models?.length) {
      const said = pair.models.map((model) => made("li", {}, made("span", { className: `chip ${hue(model.grade)}`, text: level(model.grade)?.text ?? String(model.grade ?? "?") }), made("span", {}, made("b", { text: model.judge }), ` ${model.reason ?? ""}`)));
      shown.push(made("div", { className: "models" }, made("h3", { text: "What models said" }), made("ul", {}, ...said)));
    }
    return shown;
  };
  const show = (one) => {
    closeNote(false);
    if (at?.query !== one.query) exhausted = false; // a query is done: there may be another one
    at = one;
    state.at = one.name;
    remember();
    const { query, pair } = one, number = query.pairs.indexOf(pair) + 1;
    shown("columns");
    part("end").hidden = true;
    part("sheet").hidden = false;
    part("place").textContent = `Document ${number} of ${query.pairs.length}`;
    part("query").textContent = query.query ?? query.query_id;
    part("need").textContent = query.need ?? "";
    part("need").hidden = !query.need;
    part("paper").replaceChildren(...paper(one));
    part("paper").classList.remove("ignored");
    chosen();
    button("on").hidden = !pair.mine;
    flash(pair.mine ? (pair.mine.state === "unsure" ? "You could not tell. A grade replaces that." : `You gave it ${level(pair.mine.grade)?.text ?? pair.mine.grade}. Another grade replaces it.`) : skips().has(one.name) ? "You skipped this one before." : "");
    if (document.scrollingElement.scrollTop > part("sheet").offsetTop) scrollTo({ top: Math.max(0, part("sheet").offsetTop - 12), behavior: "instant" });
    tell();
    shownAt = performance.now();
    hidden = 0;
    if (hiddenAt !== null) hiddenAt = shownAt;
    root.dataset.shown = one.name;
  };
  const chosen = () => {
    const mine = at?.pair.mine;
    for (const each of part("levels").children) each.setAttribute("aria-pressed", String(mine?.state === "graded" && String(mine.grade) === each.dataset.grade));
    button("unsure").setAttribute("aria-pressed", String(mine?.state === "unsure"));
    button("note").classList.toggle("filled", Boolean(at && noteOf(at)));
  };
  const nothing = () => { // between queries, or before the first one
    at = null;
    shown("opening");
    part("strip").hidden = false;
    part("wait").textContent = offline ? "The server does not answer. The next query comes when it is back; what you have judged is kept." : queue.length ? "Saving the last grades …" : "Fetching the next query …";
    tell();
  };
  const end = () => {
    at = null;
    state.at = null;
    remember();
    delete root.dataset.shown;
    shown("columns");
    part("sheet").hidden = true;
    const sum = times.reduce((total, ms) => total + ms, 0);
    const said = alone ? ones.flatMap(({ pair }) => (pair.mine ? [{ grade: pair.mine.grade, pairs: 1 }] : [])) : progress.grades;
    const often = (grade) => said.reduce((total, each) => total + (each.grade === grade ? each.pairs : 0), 0);
    const most = Math.max(1, ...levels.map((level) => often(level.grade))), unsure = often(null);
    const tally = (kind, words, number) => made("li", {}, made("span", { className: `chip ${kind}`, text: words[0] }), made("span", { text: words[1] }), made("meter", { max: most, value: number, "aria-label": `${words[1]}: ${number}` }), made("b", { text: number.toLocaleString("en") }));
    const graded = levels.map((level) => tally(hue(level.grade), [level.text, level.name], often(level.grade)));
    const ways = made("div", { className: "row" });
    if (alone) ways.append(action("Export your grades", "primary", save));
    if (trail.length) ways.append(action("Back to the last one", "button", back));
    if (!alone) ways.append(action("Look for more", "button", () => { exhausted = false; nothing(); more(); }));
    const any = said.length > 0;
    part("end").replaceChildren(
      made("h1", { text: any ? "That was the last one. Thank you!" : "There is nothing to judge just now" }),
      made("p", { text: any
        ? `${count(progress.judged, "document is", "documents are")} judged${alone ? "" : ", and all of it is saved"}.${times.length ? ` Since you opened this page: ${count(times.length, "document", "documents")} in ${sum < 90000 ? count(Math.max(1, Math.round(sum / 1000)), "second", "seconds") : count(Math.round(sum / 60000), "minute", "minutes")}.` : ""}`
        : "All queries of this task are done, or in other hands. Look again later." }),
      any ? made("ul", { className: "tally" }, ...graded, unsure ? tally("unsure", ["?", "Can’t tell"], unsure) : null) : "",
      alone ? made("p", { className: "quiet", text: "Export the file and send it to whoever asked you to judge. You can still go back and change grades; export again then." }) : "",
      ways,
    );
    part("end").hidden = false;
    part("end").focus({ preventScroll: true });
    tell();
  };
  const ended = (words) => { // a message as a sentence; what is no plain word may be a name, and is left as it is
    const begun = /^[a-z]+(?=[\s,;]|$)/.test(words) ? sentence(words) : words;
    return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
  };
  const action = (words, className, act) => { const made_ = made("button", { type: "button", className, text: words }); made_.addEventListener("click", act); return made_; };

  // ---- note, list, help ----
  const field = part("note").querySelector("textarea");
  const openNote = () => {
    if (!at || halted) return;
    if (!part("note").hidden) { closeNote(); return; }
    field.value = noteOf(at);
    part("note").hidden = false;
    button("note").setAttribute("aria-expanded", "true");
    field.focus();
  };
  const closeNote = (refocus = true) => { // what was written is kept for the grade, or sent with the one that is there
    if (part("note").hidden) return;
    part("note").hidden = true;
    button("note").setAttribute("aria-expanded", "false");
    written();
    const mine = at.pair.mine, note = noteOf(at).trim();
    if (mine && note !== (mine.note ?? "")) { give(at, { state: mine.state, grade: mine.grade, note }); flash("Note saved."); }
    else if (mine) delete state.drafts[at.name];
    chosen();
    tell();
    if (refocus) part("paper").focus({ preventScroll: true });
  };
  const written = () => {
    if (!at) return;
    if (field.value.trim() === (at.pair.mine?.note ?? "")) delete state.drafts[at.name];
    else state.drafts[at.name] = field.value.trim();
    remember();
  };
  field.addEventListener("input", written);
  field.addEventListener("keydown", (event) => {
    if (event.isComposing || !(event.key === "Escape" || (event.key === "Enter" && !event.shiftKey))) return;
    event.preventDefault();
    event.stopPropagation();
    closeNote();
  });
  part("note").addEventListener("submit", (event) => { event.preventDefault(); closeNote(); });
  const list = () => {
    if (!at || halted) return;
    closeNote(false);
    const skipped = skips();
    part("list-title").textContent = at.query.query ?? at.query.query_id;
    part("rows").replaceChildren(...at.query.pairs.map((pair) => {
      const one = { query: at.query, pair, name: name(at.query, pair) };
      const others = pair.fields.filter((each) => !each.title && title(pair) !== each.pieces.map(([text]) => text).join(""));
      const about = others.map((each) => cut(each.pieces, 200).map(([text]) => text).join("")).join(" · ").slice(0, 200);
      const line = made("button", { type: "button", className: "line", data: { go: one.name } }, chip(one, skipped),
        made("span", { className: "about" }, made("bdi", { className: "name", text: title(pair) }), made("bdi", { className: "more", text: about }), pair.mine?.note ? made("bdi", { className: "its-note", text: `✎ ${pair.mine.note}` }) : null));
      if (one.name === at.name) line.setAttribute("aria-current", "true");
      return made("li", {}, line);
    }));
    part("list").showModal();
    part("rows").querySelector("[aria-current]")?.focus();
  };
  part("list").addEventListener("keydown", (event) => {
    const lines = [...part("rows").querySelectorAll(".line")], here = lines.indexOf(document.activeElement);
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: lines.length - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); lines[Math.max(0, Math.min(lines.length - 1, to))]?.focus(); }
    else if (event.key.toLowerCase() === "l" && single() && !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat) { event.preventDefault(); part("list").close(); }
  });
  root.addEventListener("click", ({ target }) => {
    const line = target.closest("[data-go]"), one = line && !halted ? found(line.dataset.go) : null;
    if (!one) return;
    if (part("list").open) part("list").close();
    show(one);
  });
  const guide = () => {
    const fold = part("guide");
    fold.open = !fold.open;
    if (fold.open) { fold.scrollIntoView({ block: "nearest" }); fold.querySelector("summary").focus({ preventScroll: true }); }
  };
  const marks = () => {
    const on = root.classList.toggle("unmarked");
    button("marks").setAttribute("aria-pressed", String(!on));
    kept.set("rankgauge-judge-marks", !on);
  };
  const help = () => part("help").showModal();
  const single = () => part("single").checked;
  part("single").addEventListener("change", () => { card.singleKeys.set(single()); root.classList.toggle("keyless", !single()); });

  // ---- keys, clicks and taps ----
  const unsure = () => judge({ state: "unsure", grade: null });
  const acts = { skip, unsure, note: openNote, back, list, on: () => { closeNote(false); go(); }, guide, marks, help };
  const letters = { s: skip, x: unsure, n: openNote, u: back, backspace: back, l: list, g: guide, h: marks, "?": help };
  const harmless = new Set([list, guide, marks, help]); // they change nothing, and are never too quick
  root.addEventListener("click", ({ target }) => {
    const pressed = target.closest("[data-act], .level");
    if (!pressed) return;
    if (pressed.dataset.act) acts[pressed.dataset.act]();
    else judge({ state: "graded", grade: levels[Number(pressed.dataset.place)].grade });
  });
  const meaning = (event) => {
    const of = (sign) => {
      const level = levels?.find((each) => each.key === sign);
      return level ? () => judge({ state: "graded", grade: level.grade }) : letters[sign];
    };
    return card.keyed(event, of);
  };
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    if (event.defaultPrevented || event.isComposing) return;
    const inside = target.closest?.("#judge button");
    if (inside && (event.key === "Enter" || event.key === " ")) { // a button that is held, or too quick for the card
      if (event.repeat) event.preventDefault();
      else if (at && inside.closest(".answer") && event.timeStamp - shownAt < GUARD) { event.preventDefault(); ignored(); }
      return;
    }
    if (target.closest?.("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]") || part("columns").hidden) return;
    const undo = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "z";
    if (!undo && (event.ctrlKey || event.metaKey || event.altKey)) return;
    const act = undo ? back : single() ? meaning(event) : undefined;
    if (!act) return;
    event.preventDefault();
    if (event.repeat) return;
    if (at && !harmless.has(act) && event.timeStamp - shownAt < GUARD) { ignored(); return; }
    act();
  });
  addEventListener("beforeunload", (event) => {
    const lost = alone ? loose.size > 0 : queue.some((item) => loose.has(item.key));
    if (lost) { event.preventDefault(); event.returnValue = ""; }
  });

  // ---- the file: names, export ----
  const rows = new Map(); // what the browser could not keep
  const exported = (item) => ({ query_id: item.query_id, doc_id: item.doc_id, judge: rater, state: item.state, grade: item.grade, note: item.note ?? "", ms: item.ms, made: item.made, key: item.key });
  const coded = (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`; // what some take for the end of a line
  const download = (file, lines) => {
    const address = URL.createObjectURL(new Blob(lines.map((line) => `${JSON.stringify(line).replace(/[\x7f-\x9f\u2028\u2029]/g, coded)}\n`), { type: "application/x-ndjson" }));
    const link = made("a", { href: address, download: file.replace(/[^\p{L}\p{N}._-]+/gu, "-") });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };
  const all = () => { // one row a pair, the latest
    const skipped = new Map(state.skipped.map((one) => [one.pair, one]));
    return ones.flatMap((one) => {
      const row = rows.get(one.name) ?? kept.get(`${prefix}row:${one.name}`), skip = skipped.get(one.name);
      if (row) return [exported(row)];
      return skip ? [exported({ ...skip, query_id: one.query.query_id, doc_id: one.pair.doc_id, state: "skipped", grade: null, note: noteOf(one) })] : [];
    });
  };
  const save = () => {
    closeNote(false);
    const lines = all();
    if (!lines.length) { flash("There is nothing to export yet."); return; }
    download(`judged-${alone.name}-${rater}.jsonl`, lines);
    loose.clear();
    tell();
    flash(`${count(lines.length, "row", "rows")} exported.`);
  };
  const who = () => {
    blank();
    const known = (kept.get(`rankgauge-judge ${alone.id} raters`) ?? []).filter((each) => typeof each === "string");
    const pairs = alone.queries.reduce((sum, query) => sum + query.pairs.length, 0);
    shown("who");
    delete root.dataset.shown;
    document.getElementById("judge-rater").hidden = document.getElementById("judge-export").hidden = true;
    part("what").textContent = `${count(pairs, "document", "documents")} of ${count(alone.queries.length, "query", "queries")} wait for your grades. It goes by single keys, or by clicks and taps; you can stop at any time and go on later.`;
    part("known").hidden = !known.length;
    part("names").replaceChildren(...known.map((name) => made("li", {}, action(name, "button", () => begin(name)))));
    part("who").elements.name.focus();
  };
  const begin = (name) => {
    rater = name;
    prefix = `rankgauge-judge ${alone.id} ${JSON.stringify(rater)} `;
    const raters = `rankgauge-judge ${alone.id} raters`, known = kept.get(raters) ?? [];
    if (!kept.set(raters, [...known.filter((each) => each !== rater), rater])) unkept();
    held(`${prefix}open`, reread);
  };
  const reread = () => { // the file with what this rater has judged
    blank();
    Object.assign(state, kept.get(`${prefix}state`));
    given(structuredClone(alone.queries));
    rows.clear();
    for (const row of kept.all(`${prefix}row:`).sort((a, b) => a.sequence - b.sequence)) {
      const one = found(row.pair);
      if (one) { one.pair.mine = { state: row.state, grade: row.grade, note: row.note }; trail.push(row.pair); }
      sequence = Math.max(sequence, row.sequence + 1);
    }
    progress = { judged: trail.length, of: ones.length };
    document.getElementById("judge-rater").hidden = document.getElementById("judge-export").hidden = false;
    document.querySelector("#judge-rater bdi").textContent = rater;
    const one = found(state.at);
    if (one) show(one);
    else go();
  };

  // ---- one tab at a time ----
  let release = null;
  const held = (name, act, steal = false) => {
    release?.();
    release = null;
    const turn = ++running;
    const elsewhere = () => {
      if (turn !== running) return;
      running += 1; // what is on its way is not heard any more: the other tab sends it, too
      halt("Judging goes on in another tab", "One tab at a time judges, so that nothing is judged twice.", [
        ["Judge here instead", () => { part("halt").close(); held(name, act, true); }],
      ], "");
    };
    const hold = (lock) => {
      if (!lock) { elsewhere(); return undefined; }
      return turn === running ? new Promise((done) => { release = done; act(); }) : undefined;
    };
    if (!navigator.locks) { act(); return; } // plain http has none
    navigator.locks.request(name, steal ? { steal: true } : { ifAvailable: true }, hold).catch((error) => {
      if (error?.name === "AbortError") elsewhere();
      else if (turn === running) act();
    });
  };

  // ---- beginning ----
  const scale = () => {
    part("levels").replaceChildren(...card.buttons(levels));
    root.classList.toggle("wordy", levels.some((level) => level.meaning.length > 120)); // not all of it is on the buttons
    part("levels").dataset.many = levels.length > 6 ? "many" : "few";
    part("scale").replaceChildren(...levels.flatMap((level) => [made("dt", {}, made("span", { className: `chip ${hue(level.grade)}`, text: level.text })), made("dd", {}, made("b", { text: level.name }), level.meaning ? ` ${sentence(level.meaning)}` : "")]));
    const keys = [
      [levels.map((level) => level.key.toUpperCase()), "grade, save, next"], [["S"], "skip for now; it comes back at the end"], [["X"], "can’t tell"],
      [["N"], "a note; Enter or Esc closes it"], [["U", "Backspace", "Ctrl+Z"], "back, also to other queries; another grade replaces the old one"],
      [["L"], "list of the whole query"], [["G"], "guidelines"], [["H"], "marks on or off"], [["?"], "this help"],
    ];
    part("keys").replaceChildren(...keys.flatMap(([signs, words]) => [made("dt", {}, ...signs.map((sign) => made("kbd", { text: sign }))), made("dd", { text: words })]));
  };
  const told = (guidelines) => {
    part("prose").replaceChildren(...new DOMParser().parseFromString(guidelines ?? "", "text/html").body.childNodes);
    part("guide").open = innerWidth > 832;
    root.classList.toggle("unmarked", kept.get("rankgauge-judge-marks") === false);
    button("marks").setAttribute("aria-pressed", String(!root.classList.contains("unmarked")));
    part("single").checked = card.singleKeys.get();
    root.classList.toggle("keyless", !single());
  };
  const serve = async () => {
    task = root.dataset.task;
    blank();
    const { told: known, login, refused } = await ask(`/judge.json?task=${encodeURIComponent(task)}`);
    if (login) { loggedOut(login); return; }
    if (refused !== undefined) { halt("This task cannot be judged", refused, [["Try again", () => { part("halt").close(); serve(); }]], ""); return; }
    if (!known?.scale) { part("wait").textContent = "The server does not answer; trying again …"; later("open", serve); return; }
    ({ rater, scale: levels } = known);
    prefix = `rankgauge-judge ${JSON.stringify([known.store ?? "", task, rater])} `;
    scale();
    told(known.guidelines);
    held(`${prefix}open`, () => recover(known.closed));
  };
  const recover = (closed) => { // what was waiting is sent, and judging goes on where it was
    blank();
    Object.assign(state, kept.get(`${prefix}state`));
    queue = kept.all(`${prefix}wait:`).sort((a, b) => a.sequence - b.sequence);
    aside = kept.all(`${prefix}aside:`);
    sequence = 1 + Math.max(0, ...queue.map((item) => item.sequence));
    nothing();
    if (closed && !queue.length) { halt("This task is closed", "Its lead has closed it, so nothing more is to be judged here.", [["Try again", () => { part("halt").close(); serve(); }]]); return; }
    send();
    more();
  };
  if (alone) {
    levels = alone.scale;
    scale();
    told(alone.guidelines);
    part("who").addEventListener("submit", (event) => { event.preventDefault(); const name = part("who").elements.name.value.trim(); if (name) begin(name); });
    document.getElementById("judge-export").addEventListener("click", save);
    document.getElementById("judge-other").addEventListener("click", () => { running += 1; release?.(); release = null; closeNote(false); who(); });
    who();
  } else serve();
})();
