
// Search, the timeline and the colours. Without it the pages are whole, and only these
// are missing.
"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const asked = new URLSearchParams(location.search);

  const theme = by("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const shown = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const name = () => { theme.textContent = shown() === "dark" ? "Light colours" : "Dark colours"; };
  // What is stored may be out of reach where the page comes from a disk.
  try { const kept = localStorage.getItem("kxm-wiki-theme"); if (kept === "dark" || kept === "light") root.dataset.theme = kept; } catch { }
  theme.addEventListener("click", () => {
    root.dataset.theme = shown() === "dark" ? "light" : "dark";
    try { localStorage.setItem("kxm-wiki-theme", root.dataset.theme); } catch { }
    name();
  });
  dark.addEventListener("change", name);
  name();
  theme.hidden = false;

  const search = by("search");
  if (search) {
    const field = by("q");
    const rows = [...by("claims").children].map((row) => ({ row, text: row.textContent.toLowerCase() }));
    const find = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let n = 0;
      for (const { row, text } of rows) {
        const hit = words.every((word) => text.includes(word));
        row.hidden = !hit;
        if (hit) n++;
      }
      by("found").textContent = words.length ? `${n} of ${rows.length} claims` : "";
    };
    field.addEventListener("input", find);
    search.addEventListener("submit", (event) => event.preventDefault());
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
        event.preventDefault();
        field.focus();
      }
    });
    search.hidden = false;
    if (asked.has("q")) { field.value = asked.get("q"); find(); }
  }

  const timeline = by("as-of");
  if (timeline) {
    const field = by("date");
    const show = () => {
      const at = field.value ? Date.parse(field.value + "T00:00:00Z") : NaN;
      for (const key of document.querySelectorAll("section.key")) {
        const held = [];
        for (const claim of key.querySelectorAll(".claim[data-from]")) {
          const from = Number(claim.dataset.from), until = claim.dataset.until === "" ? Infinity : Number(claim.dataset.until);
          const holds = from <= at && at < until;
          claim.classList.toggle("holds", holds);
          if (holds) held.push(claim.querySelector(".summary").textContent);
        }
        const answer = key.querySelector(".answer");
        answer.hidden = Number.isNaN(at);
        answer.textContent = Number.isNaN(at) ? "" : `As of ${field.value}: ${held.length ? held.join(" | ") : "no value"}`;
      }
    };
    field.addEventListener("input", show);
    timeline.addEventListener("reset", () => setTimeout(show));
    timeline.addEventListener("submit", (event) => event.preventDefault());
    timeline.hidden = false;
    if (asked.has("as-of")) { field.value = asked.get("as-of"); show(); }
  }

  // A link to a claim opens what is known of it.
  const open = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { }
    const target = id && by(id);
    if (target && target.matches(".claim")) target.querySelector("details").open = true;
  };
  addEventListener("hashchange", open);
  open();
})();
