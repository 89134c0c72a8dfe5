"use strict";
(() => {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);

  const hide = () => { tip.hidden = true; document.querySelectorAll(".cur").forEach(c => c.remove()); };

  const show = (e, lines) => {
    tip.textContent = lines.join("\n");
    tip.hidden = false;
    const w = tip.offsetWidth, h = tip.offsetHeight;
    tip.style.left = Math.max(4, Math.min(innerWidth - w - 4, e.clientX + 14)) + "px";
    tip.style.top = (e.clientY - h - 12 > 4 ? e.clientY - h - 12 : e.clientY + 18) + "px";
  };

  // spots of a series: [x, words] each
  const spots = g => g.spots ||= g.dataset.h.split("|").map(s => {
    const i = s.indexOf(" ");
    return [+s.slice(0, i), s.slice(i + 1)];
  });

  const lines = (svg, x) => {
    let at = null;
    const out = [];
    svg.querySelectorAll("g.s[data-h]:not(.off)").forEach(g => {
      const near = spots(g).reduce((a, b) => Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a);
      at ??= near[0];
      out.push(g.dataset.name + "  " + near[1]);
    });
    return [at, out];
  };

  // columns of a heat map: [from, to, words, {row: count}] each
  const columns = g => g.columns ||= g.dataset.cells.split("|").map(s => {
    const [head, cells] = s.split(/:(?= \d+=)/), [from, to] = head.split(" ", 2);
    return [+from, +to, head.slice(from.length + to.length + 2), Object.fromEntries(cells.trim().split(" ").map(c => c.split("=")))];
  });

  const cell = (g, x, y) => {
    const col = columns(g).find(c => x >= c[0] && x < c[1]);
    const row = Math.floor((g.dataset.y - y) / g.dataset.r), words = g.dataset.rows.split("|")[row];
    if (!col || !words) return null;
    return [col[2], words, (+(col[3][row] || 0)).toLocaleString("en-US") + " messages"];
  };

  document.querySelectorAll("svg.chart").forEach(svg => {
    const title = svg.querySelector(":scope > title");
    if (title) { // or the browser shows it over our values
      svg.setAttribute("aria-label", title.textContent);
      title.remove();
    }
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("pointermove", e => {
      hide();
      const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const cells = svg.querySelector(".cells"), bar = e.target.closest("[data-t]");
      if (bar) return show(e, [bar.dataset.name, bar.dataset.t]);
      if (e.target.closest(".key")) return;
      if (cells) {
        const c = cell(cells, p.x, p.y);
        return c && show(e, c);
      }
      const [x, words] = lines(svg, p.x);
      if (!words.length) return;
      const cur = document.createElementNS(svg.namespaceURI, "path");
      cur.setAttribute("class", "cur");
      cur.setAttribute("d", `M${x} 20V${svg.viewBox.baseVal.height - 60}`);
      svg.append(cur);
      show(e, words);
    });
    svg.querySelectorAll(".key").forEach(key => {
      const flip = () => {
        const off = key.classList.toggle("off");
        key.setAttribute("aria-pressed", !off);
        svg.querySelectorAll(`g.s[data-s="${key.dataset.s}"]`).forEach(g => g.classList.toggle("off", off));
        key.classList.toggle("off", off);
      };
      key.setAttribute("role", "button");
      key.setAttribute("tabindex", "0");
      key.setAttribute("aria-pressed", "true");
      key.addEventListener("click", flip);
      key.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); flip(); } });
    });
  });

  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(d => { d.open = true; }));
})();
