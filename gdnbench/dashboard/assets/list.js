// The list of series: words that must occur, states, order by a column; so many rows at a time.
"use strict";
(() => {
  const index = gdnbench.index, length = index.id.length, AT_ONCE = 100;
  const key = (name, at) => gdnbench.worded(index.key[name], at);
  const values = gdnbench.column(index.value, length);
  const shift = (at) => gdnbench.worded(index.shift, at);
  const series = (at) => (key("against", at) ? `${key("variant", at)} against ${key("against", at)}` : key("variant", at));
  const metric = (at) => `${key("metric", at)} (${key("statistic", at)})`;
  const hardware = (at) => key("hardware", at) || key("device", at);
  const where = (at) => [hardware(at), key("machine", at)].filter(Boolean).join(", ");
  const setting = (at) => [key("part", at), key("setting", at)].filter(Boolean).join(", ");
  const state = (at) => [shift(at), index.stale[at] ? "stale" : ""].filter(Boolean).join(", ");
  const value = (at) => gdnbench.amount(gdnbench.worded(index.unit, at), values[at]);
  const night = (at) => gdnbench.worded(index.night, at);
  const COLUMNS = [
    ["series", series], ["load", (at) => key("load", at)], ["metric", metric], ["last figure", value],
    ["night", night], ["state", state], ["where", where], ["setting", setting],
  ];
  const KINDS = { "last figure": "number", series: "name", where: "name", setting: "name" };
  const STATES = {
    "is:stale": (at) => index.stale[at] === 1, "is:shifted": (at) => shift(at) !== "",
    "is:open": (at) => ["new", "confirmed"].includes(shift(at)),
    "is:exact": (at) => gdnbench.worded(index.assumption, at) === "exact",
    "is:sampled": (at) => gdnbench.worded(index.assumption, at) === "sampled",
  };
  const told = (at) => [series(at), key("load", at), metric(at), where(at), setting(at), index.id[at]];
  const texts = index.id.map((_, at) => told(at).join(" ").toLowerCase());

  const fits = (words) => {
    const tests = words.map((word) => {
      if (STATES[word]) return STATES[word];
      if (word.startsWith("change:")) return (at) => String(index.change[at]) === word.slice(7);
      if (word.startsWith("device:")) return (at) => index.device[at] === word.slice(7);
      return (at) => texts[at].includes(word);
    });
    return index.id.map((_, at) => at).filter((at) => tests.every((test) => test(at)));
  };
  const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

  const draw = (place, number) => {
    const { made } = gdnbench, only = wordsOf(place.dataset.only);
    let order = null, down = false, shown = AT_ONCE;
    const tools = made("div", "", { className: "tools" });
    const box = made("input", "", { type: "search", id: `words-${number}`, autocomplete: "off" });
    const label = made("label", "Words ", { htmlFor: box.id });
    const count = made("span", "", { role: "status" });
    count.setAttribute("aria-live", "polite");
    const head = made("tr"), body = made("tbody"), table = made("table", "", { className: "stack" });
    const more = made("button", "", { type: "button" });
    const scroll = made("div", "", { className: "scroll", tabIndex: 0 });
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Series");

    const sorted = (found) => {
      if (order === null) return found;
      const [name, of] = COLUMNS[order];
      const byFigure = (a, b) => values[a] - values[b];
      const byText = (a, b) => of(a).localeCompare(of(b), "en", { numeric: true });
      const compare = name === "last figure" ? byFigure : byText;
      return found.sort((a, b) => (down ? -1 : 1) * compare(a, b) || a - b);
    };
    const row = (at) => {
      const line = made("tr");
      COLUMNS.forEach(([name, of], column) => {
        const cell = made("td", column ? of(at) : "", { className: KINDS[name] ?? "" });
        cell.dataset.name = name;
        if (name === "state") cell.className = `state ${shift(at) || "unknown"}`;
        if (!column) cell.append(made("a", of(at), { href: `${place.dataset.root}series/${index.id[at]}.html` }));
        line.append(cell);
      });
      return line;
    };
    const update = () => {
      const found = sorted(fits([...only, ...wordsOf(box.value)]));
      const rows = found.slice(0, shown);
      body.replaceChildren(...rows.map(row));
      const all = `${found.length.toLocaleString("en")} series`;
      count.textContent = rows.length < found.length ? `${all}, ${rows.length} shown` : all;
      more.hidden = rows.length === found.length;
      more.textContent = `Show ${Math.min(AT_ONCE, found.length - rows.length)} more`;
      [...head.children].forEach((cell, column) => {
        if (column === order) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        else cell.removeAttribute("aria-sort");
      });
    };

    COLUMNS.forEach(([name], column) => {
      const cell = made("th", "", { scope: "col", className: name === "last figure" ? "number" : "" });
      const button = made("button", name, { type: "button" });
      button.addEventListener("click", () => {
        [order, down] = [column, order === column && !down];
        update();
      });
      cell.append(button);
      head.append(cell);
    });
    box.addEventListener("input", () => { shown = AT_ONCE; update(); });
    more.addEventListener("click", () => { shown += AT_ONCE; update(); });
    const top = made("thead");
    top.append(head);
    table.append(top, body);
    scroll.append(table);
    tools.append(label, box, count);
    place.replaceChildren(tools, scroll, more);
    if (!place.dataset.only) box.value = new URLSearchParams(location.search).get("q") ?? "";
    update();
  };
  document.querySelectorAll(".list").forEach((place, number) => {
    place.dataset.root = location.pathname.endsWith("/series.html") && !place.dataset.only ? "" : "../";
    draw(place, number);
  });
})();
