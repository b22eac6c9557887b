"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector, root = document) => root.querySelector(selector);
  const findings = all("article.finding[data-n]");
  const search = one("#search");
  const keys = one("#keys");
  const viewed = one("#view");
  const view = viewed ? JSON.parse(viewed.textContent) : null;
  let now = null;

  // The theme: as the system says until somebody chooses. Storage may be refused to pages from a file.
  const themes = ["auto", "light", "dark"];
  const store = (value) => { try { if (value) localStorage.setItem("kubesched-lint-theme", value); else return localStorage.getItem("kubesched-lint-theme"); } catch { return null; } return value; };
  const setTheme = (name) => {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    one("#theme").textContent = name[0].toUpperCase() + name.slice(1);
    one("#theme").dataset.now = name;
  };
  const nextTheme = () => {
    const name = themes[(themes.indexOf(one("#theme").dataset.now) + 1) % themes.length];
    store(name);
    setTheme(name);
  };
  const saved = store();
  setTheme(themes.includes(saved) ? saved : "auto");
  one("#theme").addEventListener("click", nextTheme);

  // Links to the parts that this report has.
  for (const part of all(".part")) {
    const link = document.createElement("a");
    link.href = `#${part.id}`;
    link.textContent = one("h2", part).textContent;
    one("#nav").append(link);
  }

  // The picture lights up where the workload of a finding may stand, and the domains of the term that it points to.
  const light = (number) => {
    if (!view) return;
    const at = view.at[number - 1];
    const focus = at === undefined || at < 0 ? null : view.focus[at];
    const svg = one("svg.topology");
    svg.classList.toggle("aimed", focus !== null);
    for (const node of all(".node", svg)) {
      node.classList.remove("u", "f", "t", "x");
      const group = Number(node.dataset.g);
      if (focus) node.classList.add(view.reach[focus.w][group]);
      const mine = one("text.mine", node);
      if (mine) {
        const count = focus ? view.pods[group][focus.w] : 0;
        mine.textContent = count ? `${count.toLocaleString("en")} of ${view.name[focus.w]}` : "";
      }
    }
    for (const pod of all("circle.pod", svg)) pod.classList.toggle("mine", focus !== null && pod.dataset.w === String(focus.w));
    for (const zone of all(".zone", svg)) zone.classList.toggle("lit", Boolean(focus && focus.zones && focus.zones.includes(zone.dataset.zone)));
    for (const item of all(".legend li, .waiting")) item.classList.toggle("now", focus !== null && item.dataset.w === String(focus.w));
    one("#status").textContent = focus ? view.say[focus.w] : "This finding is about no workload's nodes.";
    const chips = [];
    const chip = (text, kind) => { const item = document.createElement("li"); item.textContent = text; item.className = kind; chips.push(item); };
    if (focus && focus.key) {
      chip(`${focus.key}: ${focus.text || ""}`, "keyed");
      for (const [value, usable] of focus.chips || []) chip(usable ? `${value} · ${usable}` : value, usable ? "lit" : "");
    }
    one("#chips").replaceChildren(...chips);
  };

  const setNow = (finding) => {
    if (now === finding) return;
    if (now) now.classList.remove("now");
    now = finding;
    if (now) {
      now.classList.add("now");
      light(Number(now.dataset.n));
    }
  };
  for (const finding of findings) {
    finding.addEventListener("focusin", () => setNow(finding));
    finding.addEventListener("click", () => setNow(finding));
  }
  const go = (finding) => {
    if (!finding) return;
    finding.focus({ preventScroll: true });
    finding.scrollIntoView({ block: finding.offsetHeight > innerHeight * 0.8 ? "start" : "nearest" });
  };
  const step = (by) => {
    const shown = findings.filter((finding) => !finding.classList.contains("filtered"));
    const inside = document.activeElement.closest("article.finding[data-n]");
    const at = shown.indexOf(inside || null);
    go(shown[at < 0 ? (by > 0 ? 0 : shown.length - 1) : Math.min(Math.max(at + by, 0), shown.length - 1)]);
  };

  // About the rule: its text is on the page once and is copied to where somebody reads it.
  const showRule = (details) => {
    if (details.dataset.shown || !details.open) return;
    const card = document.getElementById(`rule-${details.dataset.rule}`);
    const prose = card && one(".prose", card);
    if (!prose) return;
    one("p", details).replaceWith(prose.cloneNode(true));
    details.dataset.shown = "yes";
  };
  for (const details of all("details.about")) details.addEventListener("toggle", () => showRule(details));
  const follow = () => {
    const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    if (target && target.matches("details")) target.open = true;
    if (target && target.matches("article.finding[data-n]")) setNow(target);
  };
  addEventListener("hashchange", follow);

  // Search and the severities that are shown.
  const off = new Set();
  const texts = new Map();
  const text = (finding) => {
    if (!texts.has(finding)) texts.set(finding, finding.textContent.toLowerCase());
    return texts.get(finding);
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    const keep = (element, severity) => {
      const kept = !off.has(severity) && words.every((word) => text(element).includes(word));
      element.classList.toggle("filtered", !kept);
      shown += kept;
    };
    for (const finding of findings) keep(finding, finding.dataset.severity);
    for (const item of all("#findings .brief > div")) keep(item, item.classList[0]);
    for (const file of all(".file")) file.classList.toggle("filtered", !one("article:not(.filtered), .brief > div:not(.filtered)", file));
    for (const owned of all(".owned")) owned.classList.toggle("filtered", !one(".file:not(.filtered)", owned));
    one("#none").hidden = shown > 0 || !one(".file");
  };
  const none = one("#none");
  one("#findings").append(none);
  let timer = 0;
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, findings.length > 300 ? 120 : 0); });
  for (const tile of all("[data-filter]")) {
    tile.addEventListener("click", () => {
      const severity = tile.dataset.filter;
      if (!off.delete(severity)) off.add(severity);
      tile.setAttribute("aria-pressed", String(!off.has(severity)));
      filter();
    });
  }

  // The matrix: a cell opens what is behind it; arrows move between cells.
  const cells = all(".matrix td > button");
  const toggle = (button) => {
    const open = button.getAttribute("aria-expanded") !== "true";
    for (const other of all('[aria-expanded="true"]', button.closest("tr"))) {
      other.setAttribute("aria-expanded", "false");
      document.getElementById(other.getAttribute("aria-controls")).hidden = true;
    }
    button.setAttribute("aria-expanded", String(open));
    document.getElementById(button.getAttribute("aria-controls")).hidden = !open;
  };
  for (const button of cells) button.addEventListener("click", () => toggle(button));
  const move = (button, key) => {
    const cell = button.parentElement;
    let next = cell;
    if (key === "ArrowRight" || key === "ArrowLeft") {
      const on = key === "ArrowRight" ? "nextElementSibling" : "previousElementSibling";
      do next = next[on]; while (next && !one("button", next));
    } else {
      const on = key === "ArrowDown" ? "nextElementSibling" : "previousElementSibling";
      let row = cell.parentElement;
      do { row = row[on]; next = row && !row.hidden ? row.children[cell.cellIndex] : null; } while (row && !(next && one("button", next)));
    }
    const target = next && one("button", next);
    if (target) target.focus();
    return Boolean(target);
  };

  const help = () => { if (keys.open) keys.close(); else keys.showModal(); };
  one("#help").addEventListener("click", help);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const active = document.activeElement;
    if (active === search) {
      if (event.key === "Escape") { search.value = ""; filter(); search.blur(); }
      if (event.key === "Enter") { filter(); step(1); event.preventDefault(); }
      return;
    }
    if (keys.open && event.key !== "?") return;
    if (active.matches(".matrix td > button") && event.key.startsWith("Arrow")) {
      if (move(active, event.key)) event.preventDefault();
      return;
    }
    const on = {
      j: () => step(1),
      k: () => step(-1),
      "/": () => { search.focus(); search.select(); },
      "?": help,
      t: nextTheme,
      m: () => { if (cells[0]) { cells[0].focus({ preventScroll: true }); one("#matrix").scrollIntoView(); } },
      Enter: () => {
        const about = active.matches("article.finding[data-n]") && one("details.about", active);
        if (about) about.open = !about.open;
        return Boolean(about);
      },
      Escape: () => {
        const open = active.matches('.matrix [aria-expanded="true"]') ? active : null;
        if (open) toggle(open);
        return Boolean(open);
      },
    }[event.key];
    if (on && on() !== false) event.preventDefault();
  });

  // On paper everything that is folded is open.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details.others:not([open])");
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of folded) details.open = false; });

  setNow(findings[0] || null);
  follow();
})();
