/* Tabs, sorting, folding, and a browser of items. The page is complete without it; all text is set as text, never as HTML. */
"use strict";
(() => {
  const PAGE = 20; // items that are shown at once
  const LONG = 600; // characters after which a text scrolls

  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  /** Make an element with attributes; what is put into it is an element or plain text. */
  function make(name, attributes = {}, ...inside) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...inside.filter((part) => part !== null));
    return made;
  }

  // --- light and dark ------------------------------------------------------------------------------------------------

  function remembered(value) {
    try {
      if (value !== undefined) localStorage.setItem("taskloom-theme", value);
      return localStorage.getItem("taskloom-theme") || "";
    } catch {
      return ""; // a frame or a strict browser keeps nothing
    }
  }

  function addThemeButton() {
    const root = document.documentElement;
    const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
    const name = () => (dark() ? "Light" : "Dark");
    const button = make("button", { type: "button", class: "theme" }, name());
    button.addEventListener("click", () => {
      root.dataset.theme = remembered(dark() ? "light" : "dark") || (dark() ? "light" : "dark");
      button.textContent = name();
    });
    document.querySelector(".top").append(button);
  }

  // --- boards: tabs of metrics and shots -----------------------------------------------------------------------------

  /** Turn the folded boards into panels, one of which is shown. */
  function makeBoards() {
    const host = document.getElementById("boards");
    if (!host) return;
    const boards = all("details.board", host).map(unfolded);
    const first = boards[0];
    boards.sort((a, b) => a.place[0] - b.place[0] || a.place[1] - b.place[1]);
    const curves = new Map(boards.flatMap((b) => all(".curves", b.section).map((drawn) => [b.metric, drawn])));
    const chosen = { metric: first.metric, shots: first.shots };
    const values = (kind, at) => [...new Set([...boards].sort((a, b) => a.place[at] - b.place[at]).map((b) => b[kind]))];
    const tabs = ["metric", "shots"].map((kind, at) => tablist(kind, values(kind, at), choose));
    if (boards.length > 1) host.prepend(make("div", { class: "bar-of-tabs" }, ...tabs.map((t) => t.row)));

    function choose(kind, value) {
      chosen[kind] = value;
      const shots = boards.filter((b) => b.metric === chosen.metric).map((b) => b.shots);
      if (!shots.includes(chosen.shots)) chosen.shots = shots[shots.length - 1];
      for (const board of boards) {
        board.section.hidden = !(board.metric === chosen.metric && board.shots === chosen.shots);
        if (board.section.hidden) continue;
        tabs.forEach((t) => t.select(chosen[t.kind], board.section.id, shots));
        if (curves.has(board.metric)) board.section.querySelector(".pair").prepend(curves.get(board.metric));
      }
    }
    choose("metric", first.metric);
  }

  function unfolded(details, number) {
    const heading = details.querySelector("h2");
    const section = make("section", { class: "board", id: `board${number}`, role: "tabpanel", tabindex: "-1" });
    heading.id = `board${number}-name`;
    section.setAttribute("aria-labelledby", heading.id);
    section.append(heading, ...details.querySelector(".body").childNodes);
    details.replaceWith(section);
    const { metric, shots, place } = details.dataset;
    return { section, metric, shots, place: place.split(" ").map(Number) };
  }

  /** A row of tabs; arrow keys move between those that can be chosen. */
  function tablist(kind, values, choose) {
    const buttons = values.map((value) =>
      make("button", { type: "button", role: "tab", onclick: () => choose(kind, value) }, value));
    const list = make("div", { class: "tabs", role: "tablist", "aria-label": kind }, ...buttons);
    list.addEventListener("keydown", (event) => {
      const usable = buttons.filter((b) => !b.disabled);
      const at = usable.indexOf(document.activeElement);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: usable.length - 1 }[event.key];
      if (to === undefined || at < 0) return;
      event.preventDefault();
      const next = usable[(to + usable.length) % usable.length];
      next.focus();
      next.click();
    });
    function select(value, panel, shots) {
      buttons.forEach((button, n) => {
        const on = values[n] === value;
        button.setAttribute("aria-selected", on);
        button.setAttribute("aria-controls", panel);
        button.tabIndex = on ? 0 : -1;
        button.disabled = kind === "shots" && !shots.includes(values[n]);
      });
    }
    const row = make("div", { class: "tabs" }, make("span", { "aria-hidden": "true" }, kind), list);
    row.hidden = values.length < 2;
    return { kind, row, select };
  }

  // --- the matrix: sorting, and folding to categories ----------------------------------------------------------------

  function makeMatrix(table) {
    all("tbody.group", table).forEach(foldable);
    all("thead tr:first-child th", table).forEach((head, column) => {
      const name = head.querySelector("span") || head.firstChild;
      const button = make("button", { type: "button", onclick: () => sortBy(table, head, column) });
      name.replaceWith(button);
      button.append(name);
    });
  }

  function foldable(body) {
    const rows = [...body.rows].slice(1);
    const head = body.rows[0].cells[0];
    const button = make("button", { type: "button", "aria-expanded": "false" }, ...head.childNodes);
    const show = (open) => {
      rows.forEach((row) => (row.hidden = !open));
      button.setAttribute("aria-expanded", open);
    };
    button.addEventListener("click", () => show(button.getAttribute("aria-expanded") === "false"));
    head.append(button);
    show(false);
  }

  /** Sort rows, and categories by their own row; a second click turns the order, and what has no value stays last. */
  function sortBy(table, head, column) {
    const down = head.getAttribute("aria-sort") === (column ? "descending" : "ascending");
    const order = (column ? !down : down) ? "descending" : "ascending";
    all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", order);
    const sign = order === "descending" ? -1 : 1;
    const by = (a, b) => compared(cellValue(a, column), cellValue(b, column), sign);
    const bodies = [...table.tBodies];
    for (const body of bodies) {
      const [fixed, rows] = body.classList.contains("group") ? [[body.rows[0]], [...body.rows].slice(1)] : [[], [...body.rows]];
      body.append(...fixed, ...rows.sort(by));
    }
    table.append(...bodies.sort((a, b) => by(a.rows[0], b.rows[0])));
  }

  function cellValue(row, column) {
    const cell = row.cells[column];
    if (!column) return cell.textContent;
    const value = cell.querySelector("b");
    return value ? Number(value.textContent.replaceAll(",", "")) : null;
  }

  function compared(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b);
  }

  // --- items ---------------------------------------------------------------------------------------------------------

  async function unpacked(base64) {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  /** Show the items of a task when it is opened for the first time. */
  function watchTask(details) {
    const host = details.querySelector(".items");
    const held = host && host.querySelector("script");
    if (!held) return;
    details.addEventListener("toggle", async () => {
      if (!details.open || host.dataset.shown) return;
      host.dataset.shown = "yes";
      try {
        const data = await unpacked(held.textContent);
        all(".samples", host).forEach((samples) => samples.remove());
        new Browser(data, host);
      } catch (error) {
        host.append(make("p", { class: "fail" }, `items can't be shown in this browser: ${error.message}`));
      }
    });
  }

  const FILTERS = {
    all: { name: "All", keeps: () => true },
    right: { name: "Right", keeps: (answers) => answers.length > 0 && answers.every((a) => a[2] === 1) },
    wrong: { name: "Wrong", keeps: (answers) => answers.some((a) => a[2] === 0) },
    differ: { name: "Disagreement", keeps: (_, every) => disagree(every) },
  };

  /** Learners disagree where some are right and others wrong, or else where their answers differ. */
  function disagree(answers) {
    const judged = answers.filter((a) => a[2] !== null);
    const values = judged.length ? judged.map((a) => a[2]) : answers.map((a) => a[0]);
    return new Set(values).size > 1;
  }

  class Browser {
    constructor(data, host) {
      this.data = data;
      this.filter = "all";
      this.learner = "";
      this.setting = data.setting;
      this.query = "";
      this.page = 0;
      this.texts = new Map();
      this.contested = data.learners.length - data.baselines || data.learners.length; // baselines are the last
      this.judged = data.rows.some((row) => row[3].some((a) => a && a[2] !== null));
      this.list = make("div", { class: "list" });
      this.said = make("span", { role: "status" });
      this.back = make("button", { type: "button", onclick: () => this.turn(-1) }, "Previous");
      this.on = make("button", { type: "button", onclick: () => this.turn(1) }, "Next");
      const pager = make("div", { class: "pager" }, this.said, this.back, this.on);
      host.append(this.controls(), pager, this.list);
      this.show();
    }

    controls() {
      const names = Object.keys(FILTERS).filter((key) => this.judged || ["all", "differ"].includes(key));
      this.buttons = names.map((key) =>
        make("button", { type: "button", onclick: () => this.set({ filter: key }) }, FILTERS[key].name));
      this.names = names;
      const learners = this.select("learner", ["any learner", ...this.data.learners], (value, n) => this.set({ learner: n ? value : "" }));
      const settings = this.data.settings.length > 1
        ? this.select("setting", [...this.data.settings, "all settings"], (value) => this.set({ setting: value }), this.setting)
        : null;
      const search = make("input", { type: "search", placeholder: "Search inputs and answers", "aria-label": "search" });
      let waiting = 0;
      search.addEventListener("input", () => {
        clearTimeout(waiting);
        waiting = setTimeout(() => this.set({ query: search.value.toLowerCase() }), 120);
      });
      const group = make("div", { class: "group", role: "group", "aria-label": "filter" }, ...this.buttons);
      return make("div", { class: "filters" }, settings, learners, group, search);
    }

    select(name, values, choose, chosen = values[0]) {
      const options = values.map((value) => make("option", { selected: value === chosen }, value));
      const made = make("select", { "aria-label": name }, ...options);
      made.addEventListener("change", () => choose(values[made.selectedIndex], made.selectedIndex));
      return made;
    }

    set(changes) {
      Object.assign(this, changes, { page: 0 });
      this.show();
    }

    turn(by) {
      this.page += by;
      this.show();
      this.list.scrollIntoView({ block: "nearest" });
    }

    found() {
      const { rows, settings, learners } = this.data;
      const setting = settings.indexOf(this.setting);
      const learner = learners.indexOf(this.learner);
      return rows.filter((row) => {
        if (setting >= 0 && row[1] !== setting) return false;
        const every = row[3].slice(0, this.contested).filter(Boolean);
        const asked = learner < 0 ? every : row[3][learner] ? [row[3][learner]] : [];
        return (learner < 0 || asked.length > 0) && FILTERS[this.filter].keeps(asked, every) && this.matches(row);
      });
    }

    matches(row) {
      if (!this.query) return true;
      if (!this.texts.has(row)) this.texts.set(row, this.textOf(row));
      return this.texts.get(row).includes(this.query);
    }

    textOf([item, , , answers]) {
      const [id, fields, gold] = this.data.items[item];
      const given = answers.filter(Boolean).flatMap((a) => [a[0], a[1]]);
      return [id, ...fields, ...gold, ...given].filter(Boolean).join("\n").toLowerCase();
    }

    show() {
      const rows = this.found();
      const first = this.page * PAGE;
      const last = Math.min(first + PAGE, rows.length);
      this.buttons.forEach((button, n) => button.setAttribute("aria-pressed", this.names[n] === this.filter));
      this.said.textContent = rows.length ? `${first + 1} to ${last} of ${rows.length.toLocaleString("en")} items` : "No item matches.";
      this.back.disabled = first === 0;
      this.on.disabled = last >= rows.length;
      this.list.replaceChildren(...rows.slice(first, last).map((row) => this.item(row)));
    }

    item([at, setting, episode, answers]) {
      const { items, settings, episodes, fields, learners, metric } = this.data;
      const [id, values, gold] = items[at];
      const inputs = values.flatMap((value, n) => [make("dt", {}, fields[n] ?? ""), this.text("dd", value)]);
      const asked = make("dl", {}, ...inputs, make("dt", {}, "gold"), this.text("dd", gold.join("\nor ")));
      const rows = learners.map((name, n) => answers[n] && this.answer(name, answers[n], metric, n >= this.contested)).filter(Boolean);
      const table = make("table", {}, make("tbody", {}, ...rows));
      const head = make("header", {}, `${id} · ${settings[setting]} · ${episodes[episode]}`);
      return make("article", { class: "item" }, head, asked, make("div", {}, table));
    }

    answer(name, [text, raw, right, score, amiss], metric, minor) {
      const said = this.text("div", text === null ? "no usable answer" : text);
      const given = make("td", { class: text === null ? "given none" : "given" }, said);
      if (amiss) given.append(make("small", {}, ` (${amiss})`));
      if (raw !== null) given.append(make("span", { class: "raw", title: "raw output" }, ...this.marked(raw)));
      const verdict = right === null ? (score === null ? "" : `${score} ${metric}`) : right ? "✓ right" : "✗ wrong";
      const style = right === null ? "n" : right ? "n right" : "n wrong";
      return make("tr", { class: minor ? "minor" : null }, make("th", { scope: "row" }, name), make("td", { class: style }, verdict), given);
    }

    text(name, value, style = "") {
      const long = value.length > LONG ? "long" : "";
      return make(name, { class: `${style} ${long}`.trim() || null, tabindex: long ? "0" : null }, ...this.marked(value));
    }

    /** Give a text in parts, those that are searched for as marks. */
    marked(value) {
      if (!this.query) return [value];
      const parts = [];
      const lower = value.toLowerCase();
      let from = 0;
      for (let at = lower.indexOf(this.query); at >= 0; at = lower.indexOf(this.query, from)) {
        parts.push(value.slice(from, at), make("mark", {}, value.slice(at, at + this.query.length)));
        from = at + this.query.length;
      }
      return [...parts, value.slice(from)];
    }
  }

  /** Offer to search many tasks by name. */
  function addTaskSearch() {
    const tasks = all("details.task");
    if (tasks.length <= PAGE) return;
    const names = tasks.map((task) => task.querySelector("summary").textContent.toLowerCase());
    const search = make("input", { type: "search", placeholder: "Search tasks", "aria-label": "search tasks" });
    search.addEventListener("input", () => {
      const query = search.value.toLowerCase();
      tasks.forEach((task, n) => (task.hidden = !names[n].includes(query)));
    });
    tasks[0].before(make("p", { class: "filters" }, search));
  }

  // --- start ---------------------------------------------------------------------------------------------------------

  /** Open what a link leads to. */
  function openTarget() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") {
      target.open = true;
      target.scrollIntoView();
    }
  }

  addThemeButton();
  makeBoards();
  all("table.matrix").forEach(makeMatrix);
  all("details.task").forEach(watchTask);
  addTaskSearch();
  addEventListener("hashchange", openTarget);
  openTarget();
})();
