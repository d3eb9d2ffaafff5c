// Reads values under the pointer. Everything on the page shows without it.
(() => {
  "use strict";
  const documents = {};
  for (const e of document.querySelectorAll("script[data-document]")) documents[e.dataset.document] = JSON.parse(e.textContent);
  const units = /* UNITS */ [];
  const nb = "\u00a0";
  const thousands = (s) => s.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
  const fixed = (v) => v >= 99.95 ? v.toFixed(0) : v >= 9.995 ? v.toFixed(1) : v >= 0.9995 ? v.toFixed(2) : v.toFixed(3);
  const digits = (v) => String(Number(fixed(v)));
  const count = (n) => thousands(String(Math.round(n)));
  const rate = (v) => (v >= 100 ? count(v) : digits(v)) + "/s";
  const duration = (ns) => {
    for (const [unit, length, below] of units) {
      const text = ns % length === 0 ? String(ns / length) : fixed(ns / length);
      if (below === null || Number(text) < below) return thousands(text) + nb + unit;
    }
  };
  // What is only known to be longer is rounded down, so that no more is claimed than is known.
  const above = (ns) => {
    const [, length] = units.find(([, length, below]) => below === null || Math.floor(ns / length) < below);
    const whole = Math.floor(ns / length);
    const step = Math.max(1, length / (whole < 10 ? 100 : whole < 100 ? 10 : 1));
    const [number, unit] = duration(ns - (ns % step)).split(nb);
    return ">" + nb + (number.includes(".") ? String(Number(number)) : number) + nb + unit;
  };
  const moment = (ns) => {
    const s = ns / 1e9;
    const two = (v) => String(v).padStart(2, "0");
    if (ns > 0 && s < 0.9995) return digits(ns >= 999500 ? ns / 1e6 : ns / 1e3) + nb + (ns >= 999500 ? "ms" : "µs");
    if (s < 120) return Number(s.toFixed(1)) + nb + "s";
    const h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60, rest = Math.floor(s % 60);
    return h ? `${h}${nb}h${nb}${two(m)}${nb}min${nb}${two(rest)}${nb}s` : `${m}${nb}min${nb}${two(rest)}${nb}s`;
  };
  const known = (v, f) => (v === null || v === undefined ? "–" : f(v));
  const range = (from, length) => `${moment(from)} – ${moment(from + length)}`;

  const spectrum = (svg, _run, x) => {
    const lines = svg.closest("figure").lines;
    const q = 1 - 10 ** -x, places = Math.max(0, Math.ceil(x) - 1);
    const rows = lines.map(([name, , points]) => {
      const point = points.find((p) => p[0] >= q - 1e-12);
      return [name, point ? duration(point[1]) : "not known"];
    });
    const one = Math.round(1 / (1 - q));
    return [`p${Number((q * 100).toFixed(places + 1))}` + (one > 1 ? `: 1 in ${count(one)} takes longer` : ""), rows];
  };
  const heat = (svg, run, x, y, noCells) => {
    const { columns, column_ns: width, bin_edges_ns: edges } = run.heatmap;
    const column = columns.find((c) => c.start_ns <= x && x < c.start_ns + width);
    if (!column) return null;
    const rows = [];
    if (!noCells) {
      let bin = edges.findIndex((e) => e > y) - 1;
      if (bin < -1) bin = edges.length - 1;
      bin = Math.max(bin, 0);
      const cell = column.cells.find((c) => c[0] === bin);
      const to = edges[bin + 1];
      rows.push([`${duration(edges[bin])} – ${to ? duration(to) : "more"}`, count(cell ? cell[1] : 0)]);
    }
    const row = run.series.rows.find((r) => r.start_ns <= x && x < r.start_ns + r.length_ns);
    const ended = (q, ns) => (q ? (q.censored ? above : duration)(q.ns) : known(row.timed_out ? null : ns, duration));
    if (row) {
      const by = `, ended ${range(row.start_ns, row.length_ns)}`;
      rows.push(["p99" + by, ended(row.ended_p99, row.response_p99_ns)], ["p50" + by, ended(row.ended_p50, row.response_p50_ns)]);
    }
    if (column.censored) rows.push(["longer than known", count(column.censored)]);
    if (column.failed) rows.push(["failed", count(column.failed)]);
    return ["due " + range(column.start_ns, width), rows];
  };
  const series = (fields) => (svg, run, x) => {
    const row = run.series.rows.find((r) => r.start_ns <= x && x < r.start_ns + r.length_ns);
    return row ? [range(row.start_ns, row.length_ns), fields(row, run)] : null;
  };
  // A cell of the timeline, which is finer than a row.
  const cellAt = (run, x) => {
    const t = run.series.timeline;
    const i = t ? Math.floor((x - t.start_ns) / t.cell_ns) : -1;
    if (i < 0 || i >= t.due.length) return null;
    const start_ns = t.start_ns + i * t.cell_ns;
    return {
      start_ns, length_ns: Math.min(t.cell_ns, t.end_ns - start_ns), due: t.due[i], sent: t.sent[i], ok: t.ok[i], failed: t.failed[i],
      timed_out: t.timed_out[i], in_flight: t.in_flight_max[i], backlog: t.backlog_max[i],
    };
  };
  const cells = (fields) => (svg, run, x) => {
    const cell = cellAt(run, x);
    return cell && cell.length_ns > 0 ? [range(cell.start_ns, cell.length_ns), fields(cell, run)] : series(fields)(svg, run, x);
  };
  // Counted at the end of a row: the end that is nearest.
  const levels = (fields) => (svg, run, x) => {
    const off = (r) => Math.abs(r.start_ns + r.length_ns - x);
    const row = run.series.rows.reduce((best, r) => (best && off(best) <= off(r) ? best : r), null);
    return row ? ["at " + moment(row.start_ns + row.length_ns), fields(row)] : null;
  };
  const each = (n, row) => rate((n * 1e9) / row.length_ns);
  const readers = {
    spectrum,
    heat,
    rates: cells((r, run) => [
      ...(run.rate.offered === null ? [] : [["offered", each(r.due, r)]]),
      ["sent", each(r.sent, r)], ["achieved", each(r.ok, r)],
      ...(r.failed ? [["failed", each(r.failed, r)]] : []),
      ...(r.timed_out ? [["timed out", each(r.timed_out, r)]] : []),
    ]),
    flight: (svg, run, x) => {
      const cell = cellAt(run, x), ends = levels((r) => [["connections", count(r.connections)]])(svg, run, x);
      if (!cell) return levels((r) => [["in flight", count(r.in_flight)], ["waiting to be sent", count(r.backlog)], ["connections", count(r.connections)]])(svg, run, x);
      return [range(cell.start_ns, cell.length_ns), [["in flight at most", count(cell.in_flight)], ["waiting at most", count(cell.backlog)], ...(ends ? ends[1] : [])]];
    },
    lateness: series((r) => [["lateness p99", known(r.generator_late_p99_ns, duration)], ["generator busy", digits(r.busy_share * 100) + nb + "%"]]),
  };

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const numbers = (text) => text.split(" ").map(Number);
  const hide = (svg) => {
    tip.hidden = true;
    svg.querySelector(".cross")?.remove();
  };
  const show = (svg, ux, uy) => {
    const [left, top, right, bottom] = numbers(svg.dataset.plot);
    const [x0, x1] = numbers(svg.dataset.x), [y0, y1] = numbers(svg.dataset.y);
    if (ux < left || ux > right || uy < top || uy > bottom) return hide(svg);
    const x = x0 + ((x1 - x0) * (ux - left)) / (right - left);
    const cells = svg.dataset.y0 ? Number(svg.dataset.y0) : top;
    const y = y0 * (y1 / y0) ** ((bottom - uy) / (bottom - cells));
    const read = readers[svg.dataset.hover](svg, documents[svg.closest("figure").dataset.scope], x, y, uy < cells);
    if (!read) return hide(svg);
    const head = document.createElement("b");
    head.textContent = read[0];
    tip.replaceChildren(head, ...read[1].map(([name, value]) => {
      const row = document.createElement("div");
      for (const text of [name, value]) row.append(Object.assign(document.createElement("span"), { textContent: text }));
      return row;
    }));
    let cross = svg.querySelector(".cross");
    if (!cross) {
      cross = document.createElementNS("http://www.w3.org/2000/svg", "line");
      cross.setAttribute("class", "cross");
      svg.append(cross);
    }
    for (const [name, value] of [["x1", ux], ["x2", ux], ["y1", top], ["y2", bottom]]) cross.setAttribute(name, value);
    tip.hidden = false;
    const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const px = box.left + ux * scale, py = box.top + uy * scale;
    const beside = px + 16 + tip.offsetWidth > innerWidth ? px - 16 - tip.offsetWidth : px + 16;
    tip.style.left = Math.max(4, beside) + "px";
    tip.style.top = Math.max(4, Math.min(py - tip.offsetHeight / 2, innerHeight - tip.offsetHeight - 4)) + "px";
  };
  // Paper has nothing to click: what is folded is printed open, and folded again after it.
  const folded = document.querySelectorAll("details:not([open])");
  addEventListener("beforeprint", () => folded.forEach((e) => (e.open = true)));
  addEventListener("afterprint", () => folded.forEach((e) => (e.open = false)));
  for (const figure of document.querySelectorAll("figure")) {
    const lines = figure.querySelector("script.lines");
    if (lines) figure.lines = JSON.parse(lines.textContent);
  }
  for (const svg of document.querySelectorAll("svg[data-hover]")) {
    let at = null;
    const move = (e) => {
      const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
      at = [(e.clientX - box.left) * scale, (e.clientY - box.top) * scale];
      show(svg, ...at);
    };
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerdown", move);
    svg.addEventListener("pointerleave", () => hide(svg));
    svg.addEventListener("blur", () => hide(svg));
    svg.addEventListener("keydown", (e) => {
      const [left, top, right, bottom] = numbers(svg.dataset.plot);
      const step = ((right - left) / 200) * (e.shiftKey ? 10 : 1);
      const move = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -4], ArrowDown: [0, 4] }[e.key];
      if (e.key === "Escape") hide(svg);
      if (!move) return;
      e.preventDefault();
      at ??= [(left + right) / 2, (top + bottom) / 2];
      at = [Math.min(right, Math.max(left, at[0] + move[0])), Math.min(bottom, Math.max(top, at[1] + move[1]))];
      show(svg, ...at);
    });
  }
})();
