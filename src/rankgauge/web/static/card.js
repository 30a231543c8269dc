"use strict";
// What those who judge and those who decide see alike: a document as a card, grades with their colours, and keys.
const card = (() => {
  const LONG = 3000, FOLDED = 2400, MARKED = 4000;

  const made = (tag, { text, data: set, ...more } = {}, ...inner) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(more)) {
      if (name in element) element[name] = value;
      else element.setAttribute(name, value);
    }
    Object.assign(element.dataset, set);
    if (text !== undefined) element.textContent = text;
    element.append(...inner.filter((each) => each !== null && each !== undefined));
    return element;
  };
  const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1);

  // ---- a document ----
  const words = (pieces) => { // a text may have a hundred thousand: so many marks would hold the browser up
    const all = document.createDocumentFragment(), end = pieces.length > MARKED ? MARKED : pieces.length;
    for (const [text, on] of pieces.slice(0, end)) all.append(on ? made("mark", { text }) : text);
    all.append(pieces.slice(end).map(([text]) => text).join(""));
    return all;
  };
  const cut = (pieces, most) => { // the beginning of a text
    const taken = [];
    let room = most;
    for (const [text, on] of pieces) {
      if (room <= 0) break;
      taken.push([text.length > room && !on ? `${text.slice(0, text.lastIndexOf(" ", room) > 0 ? text.lastIndexOf(" ", room) : room)} …` : text, on]);
      room -= text.length;
    }
    return taken;
  };
  const length = (field) => field.pieces.reduce((sum, [text]) => sum + text.length, 0);
  const fieldOf = (field, labelled) => {
    const long = length(field), text = made("div", { className: "words", dir: "auto" });
    text.append(words(long > LONG ? cut(field.pieces, FOLDED) : field.pieces));
    const box = made("div", { className: long <= 80 && labelled ? "field short" : "field" }, labelled ? made("div", { className: "field-name", text: field.name }) : null, text);
    if (long > LONG) {
      const all = made("button", { type: "button", className: "button all", text: `Show all ${long.toLocaleString("en")} characters` });
      all.addEventListener("click", () => {
        const paper = all.closest(".paper");
        text.replaceChildren(words(field.pieces));
        all.remove();
        paper.focus({ preventScroll: true });
      });
      box.append(all);
    }
    return box;
  };
  const contents = (fields, heading) => { // the title under a heading of this kind, then the others, long ones folded
    const lead = fields.find((field) => field.title), others = fields.filter((field) => field !== lead);
    const several = others.filter((field) => length(field) > 80).length > 1; // texts: each is named
    return [
      ...(lead ? [made(heading, { className: "lead-title", dir: "auto" }, words(length(lead) > LONG ? cut(lead.pieces, 300) : lead.pieces))] : []),
      ...others.map((field) => fieldOf(field, several || (others.length > 1 && length(field) <= 80))),
    ];
  };
  const identity = (doc) => made("div", { className: "doc-id", title: "The id of the document" }, made("bdi", { text: doc }));

  // ---- grades ----
  const hue = (levels, grade) => { // the colour of a grade: grey for the lowest, then from light to dark
    const place = levels.findIndex((level) => level.grade === grade), number = levels.length;
    if (place <= 0) return "h0";
    if (number === 2) return "h2";
    return number <= 5 ? `h${place}` : `h${1 + Math.round((place - 1) * 3 / (number - 2))}`;
  };
  const buttons = (levels) => levels.map((level, place) => made("button", { type: "button", className: `level ${hue(levels, level.grade)}`, "aria-pressed": "false", title: level.meaning, data: { grade: String(level.grade), place } },
    made("kbd", { text: level.key.toUpperCase() }), made("span", { className: "name", text: level.name || level.text }), level.name && level.key !== level.text ? made("span", { className: "grade-text", text: level.text }) : null, level.meaning ? made("span", { className: "meaning", text: sentence(level.meaning) }) : null));

  // ---- keys ----
  const keyed = (event, of) => { // what a key means; on other keyboards the place of a key is what counts
    const placed = /^Digit\d$/.test(event.code) && !event.shiftKey ? event.code.slice(5) : /^Key[A-Z]$/.test(event.code) && !/^[\x20-\x7e]$/.test(event.key) ? event.code.slice(3).toLowerCase() : null;
    return of(event.key.toLowerCase()) ?? (placed ? of(placed) : undefined);
  };
  const SINGLE = "rankgauge-keys"; // of every page: whether letters and digits do something
  const singleKeys = {
    get() { try { return localStorage.getItem(SINGLE) !== "off"; } catch { return true; } },
    set(on) { try { localStorage.setItem(SINGLE, on ? "on" : "off"); } catch { /* not remembered */ } },
  };
  return { made, sentence, cut, contents, identity, hue, buttons, keyed, singleKeys };
})();
