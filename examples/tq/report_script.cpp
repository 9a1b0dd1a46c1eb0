// SPDX-License-Identifier: MIT
#include "report_script.hpp"

namespace tool {

// On narrow screens rows are cards: the roles of tables, which `display` takes from the elements,
// are given back by the script.
const char* const report_style = R"(
body { max-width: 1500px; } caption { text-align: left; padding: 3px 0; }
:root { --values: #5b7ea8; } @media screen and (prefers-color-scheme: dark) { :root { --values: #7fa6d6; } }
.sortable button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer;
  text-decoration: underline dotted; text-align: inherit; }
th, td { padding: 3px 8px; } thead th { white-space: normal; vertical-align: bottom; }
th[aria-sort=ascending] button::after { content: " \25B2"; }
  th[aria-sort=descending] button::after { content: " \25BC"; }
tbody th { font-weight: normal; white-space: normal; min-width: 12em; }
td.name { white-space: normal; overflow-wrap: break-word; min-width: 6em; } td.kind { min-width: 15em; }
.tensors:not(.parts) .part, .groups .picture { display: none; }
tr:target, tr.hit { background: var(--best); }
.key.copied { background: none; border: 2px solid var(--tick); box-sizing: border-box; }
.values { width: 144px; height: 30px; display: block; } .values .bars { fill: var(--values); }
.values path { vector-effect: non-scaling-stroke; } .clip { stroke: var(--far); stroke-width: 1.5px; }
.narrow { stroke: var(--far); stroke-width: 1px; stroke-dasharray: 2 2; }
.scatter { overflow: visible; } circle { stroke: var(--paper); cursor: pointer; }
circle.copied { fill: none; stroke: var(--tick); stroke-width: 1.5px; pointer-events: all; }
.tools { display: flex; flex-wrap: wrap; gap: .5em 1.5em; align-items: center; }
.tools input, .tools select, #more, #every { font: inherit; color: var(--ink); background: var(--paper);
  border: 1px solid var(--tick); border-radius: 4px; padding: 3px 8px; max-width: 100%; }
.tools input[type=checkbox] { accent-color: var(--link); vertical-align: middle; }
#more, #every { cursor: pointer; }
@media screen and (max-width: 700px) {
  .sortable, .sortable tbody, .sortable caption { display: block; }
  .sortable thead { display: block; margin-bottom: 1em; } .sortable thead tr { display: flex; flex-wrap: wrap;
  gap: 4px 14px; }
  .sortable thead th { display: block; border: 0; padding: 2px 0; font-weight: normal; }
  .sortable thead th:not(:has(button)) { display: none; }
  .sortable tbody tr { display: grid; grid-template-columns: 1fr 1fr; gap: 0 12px; border: 1px solid var(--faint);
  border-radius: 6px; padding: 6px 10px; margin-bottom: 8px; }
  .sortable tbody th { grid-column: 1 / -1; display: block; border: 0; padding: 2px 0; font-weight: bold;
  min-width: 0; }
  .sortable td { display: flex; justify-content: space-between; flex-wrap: wrap; gap: 0 8px; border: 0;
  padding: 1px 0; text-align: right; }
  .sortable td::before { content: attr(data-h); color: var(--tick); font-size: 12px; }
  .sortable td.name, .sortable td.picture { grid-column: 1 / -1; min-width: 0; text-align: left; }
  td.picture::before { display: none; }
  .values { width: 100%; }
}
@page { size: landscape; } @media print { .tools, #more, #every, #status { display: none; } table { font-size: 8px;
  } th, td { padding: 1px 3px; } tbody th { min-width: 9em; } td.kind { min-width: 9em; } .values { width: 90px;
  height: 18px; } .scatter { break-inside: avoid; } }
)";

const char* const report_notes = R"(<h2>How to read this page</h2>
<ul>
<li><b>Bytes</b> count everything that a tensor takes in the file: codes, scales, zero points, and the bits that fill the last
byte of the codes. <b>Saved</b> is 1 - bytes after / bytes before, of all bytes together, so that a large tensor counts for more
than a small one.</li>
<li><b>SQNR</b> is how far the values lie above what was lost, in decibel: 10 log10(sum of x&sup2; / sum of (x - x')&sup2;). Higher is
better; 6 dB are worth a bit. It is that of the finite values. <b>Share of the error</b> is that of the sum of (x - x')&sup2; over all
tensors.</li>
<li>The small pictures show how often which values were there before; heights are logarithms of counts. The red lines are the
ends of what codes can say: whatever lies beyond is clipped. Where there are many scales, these are the ends of all of them
together, and the dashed lines those of the narrowest. A line that is missing lies outside of the picture.</li>
<li>In the picture of bits against error each tensor is a point, the larger the more elements it has. What was copied is exact,
and has a ring.</li>
<li>The table has a row for each tensor, or, where there are many, for each layer or for all tensors that have one name but for
numbers (N). A click on the name of such a group leads to its tensors. The filter takes words of names and schemes.</li>
<li><b>Copied</b> tensors have, in parentheses, why, as far as the files tell: 1-D tensors, integers, and what another program
quantized are copied unless tq quantize is told otherwise.</li>
</ul>
)";

const char* const report_script = R"(
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const part = (id) => document.getElementById(id);
const table = part('tensors'), body = table.tBodies[0];
const allAtOnce = 500, atOnce = 100;

const escaped = (text) => text.replace(/[&<>"']/g, (c) => '&#' + c.charCodeAt(0) + ';');
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');
const known = (x) => x === 'inf' ? Infinity : x === '-inf' ? -Infinity : typeof x === 'number' ? x : NaN;
const short = (x) => x === 0 ? '0' : x.toPrecision(4).replace(/(\.\d*?)0+(?=e|$)/, '$1').replace(/\.(?=e|$)/, '');
const dash = '\u2013';
const decibel = (db) => isFinite(db) ? db.toFixed(2) : db > 0 ? '\u221e' : dash;
const percent = (share) => isNaN(share) ? dash : share === 0 ? '0\u00a0%' :
    share < 1e-6 ? '&lt;\u00a00.0001\u00a0%' : short(100 * share) + '\u00a0%';
const plural = (n, one, more) => grouped(n) + ' ' + (n === 1 ? one : more);

const layerOf = (name) => {
  const numbered = /^(?:.*?[./])?\d+(?=[./]|$)/.exec(name);
  if (numbered) return numbered[0];
  const last = Math.max(name.lastIndexOf('.'), name.lastIndexOf('/'));
  return last < 0 ? name : name.slice(0, last);
};
const roleOf = (name) => name.replace(/[0-9]+/g, 'N');

function tensorRows() {
  let name = '';
  return data.tensors.map((t, i) => {
    const [kind, was, elements, before, after, codes, scales, zeros, count] = data.layouts[t[2]];
    name = name.slice(0, t[0]) + t[1];
    const quantized = data.kinds[kind][1] === 1;
    const part = (n) => quantized ? n : NaN;
    return {id: 't' + i, name, kind: data.kinds[kind][0], was, elements, before, after, quantized,
            codes: part(codes), scales: part(scales), zeros: part(zeros), count,
            bits: elements ? 8 * after / elements : 0, picture: t.length > 3 ? t.slice(3, 10) : null,
            db: known(t[10]), share: known(t[11]), max: known(t[12])};
  });
}
function groupRows(groups) {
  return groups.map(([name, tensors, kinds, elements, before, after, codes, scales, zeros, db, share, max]) => {
    const quantized = db !== undefined;
    const part = (n) => quantized ? n : NaN;
    const texts = kinds.slice(0, 3).map((kind) => data.kinds[kind][0]);
    if (kinds.length > 3) texts.push('and ' + (kinds.length - 3) + ' more');
    return {name, tensors, kind: texts.join('; '), was: plural(tensors, 'tensor', 'tensors'), elements, before, after,
            quantized, codes: part(codes), scales: part(scales), zeros: part(zeros), picture: null,
            bits: elements ? 8 * after / elements : 0, db: known(db), share: known(share), max: known(max)};
  });
}

const rows = {tensors: tensorRows(), layers: groupRows(data.layers), roles: groupRows(data.roles)};
for (const option of [...part('view').options])
  if (option.value !== 'tensors' && !rows[option.value].length) option.remove();
const order = {tensors: rows.tensors.slice(), layers: rows.layers.slice(), roles: rows.roles.slice()};
const state = {view: 'tensors', words: '', only: null, shown: 0, list: []};

function bars(heights) {
  const up = [...heights].map((c) => c.charCodeAt(0) - 65);
  let path = 'M0 24';
  for (let c = 0; c < up.length; c++) {
    if (c === 0 || up[c] !== up[c - 1]) path += 'V' + (24 - up[c]);
    if (c + 1 === up.length || up[c] !== up[c + 1]) path += 'H' + (c + 1);
  }
  return path + 'V24Z';
}
function picture(row) {
  if (!row.picture || !row.picture[0]) return dash;
  const [heights, min, max, low, high, narrowLow, narrowHigh] = row.picture;
  const columns = data.columns, length = max > min ? max - min : max !== 0 ? Math.abs(max) : 1;
  let from = min, to = max, words = 'values from ' + short(min) + ' to ' + short(max), lines = '';
  if (row.count) {
    from = Math.min(from, Math.max(low, min - length / 4));
    to = Math.max(to, Math.min(high, max + length / 4));
  }
  const margin = 0.02 * Math.max(to - from, length);
  from -= margin;
  to += margin;
  const mark = (end, look) => {
    const at = (end - from) / (to - from) * columns;
    if (at >= 0 && at <= columns) lines += '<path class="' + look + '" d="M' + at.toFixed(1) + ' 0V24"/>';
  };
  if (row.count) {
    words += '; codes reach from ' + short(low) + ' to ' + short(high);
    if (row.count > 1) {
      words += ', the narrowest of ' + grouped(row.count) + ' scales from ' + short(narrowLow) + ' to ' + short(narrowHigh);
      mark(narrowLow, 'narrow');
      mark(narrowHigh, 'narrow');
    }
    mark(low, 'clip');
    mark(high, 'clip');
  }
  return '<svg class="values" viewBox="0 0 ' + columns + ' 24" preserveAspectRatio="none" role="img"><title>' + words +
      '</title><path class="bars" d="' + bars(heights) + '"/>' + lines + '</svg>';
}

const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
function rowText(row) {
  const lost = (text) => row.quantized ? text : dash;
  const cells = [['picture', picture(row)], ['name kind', escaped(row.kind)], ['', row.bits.toFixed(2)],
                 ['', lost(decibel(row.db))], ['', lost(percent(row.share))],
                 ['', isFinite(row.max) ? short(row.max) : dash],
                 ['', grouped(row.before)], ['', grouped(row.after)], ['part', lost(grouped(row.codes))],
                 ['part', lost(grouped(row.scales))], ['part', lost(grouped(row.zeros))], ['part', grouped(row.elements)],
                 ['name', escaped(row.was)]];
  const words = escaped(row.name).replace(/[._\/]/g, '$&<wbr>');
  const name = row.tensors ? '<button type="button">' + words + '</button>' : words;
  const cell = ([look, text], i) => '<td role="cell"' + (look ? ' class="' + look + '"' : '') +
      ' data-h="' + titles[i + 1] + '">' + text + '</td>';
  return '<tr role="row"' + (row.id ? ' id="' + row.id + '"' : '') +
      '><th scope="row" role="rowheader" class="name">' + name + '</th>' + cells.map(cell).join('') + '</tr>';
}

function more() {
  const next = state.list.slice(state.shown, state.shown + (state.list.length > allAtOnce ? atOnce : allAtOnce));
  body.insertAdjacentHTML('beforeend', next.map(rowText).join(''));
  state.shown += next.length;
  const all = rows[state.view].length, what = state.view === 'tensors' ? ['tensor', 'tensors'] : ['group', 'groups'];
  let text = plural(state.list.length, ...what);
  if (state.list.length !== all) text += ' of ' + grouped(all);
  if (state.only && state.only.text) text += ', ' + state.only.text;
  if (state.shown < state.list.length) text += '; rows of the first ' + grouped(state.shown) + ' are shown';
  part('status').textContent = text + '.';
  part('more').hidden = state.shown >= state.list.length;
  part('every').hidden = !state.only;
}
function render() {
  const words = state.words.toLowerCase().split(/\s+/).filter((word) => word);
  const fits = (row) => {
    if (state.only && !state.only.has(row)) return false;
    const text = (row.name + ' ' + row.kind).toLowerCase();
    return words.every((word) => text.includes(word));
  };
  state.list = order[state.view].filter(fits);
  state.shown = 0;
  table.classList.toggle('groups', state.view !== 'tensors');
  body.textContent = '';
  more();
}
function show(view, only) {
  state.view = view;
  state.only = only;
  part('view').value = view;
  render();
}

const byName = new Intl.Collator(undefined, {numeric: true}).compare;
const byNumber = (a, b) => a < b ? -1 : a > b ? 1 : 0;
function direction(head) {
  const order = head.getAttribute('aria-sort') === 'ascending' ? 'descending' : 'ascending';
  for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', order);
  return order;
}
function sorted(list, key, compare, order) {
  const some = list.filter((item) => key(item) === key(item)), none = list.filter((item) => key(item) !== key(item));
  some.sort((a, b) => order === 'ascending' ? compare(key(a), key(b)) : compare(key(b), key(a)));
  return some.concat(none);
}
function sortStatic(head) {
  const rowsOf = head.closest('table').tBodies[0], column = head.cellIndex, isNumber = head.dataset.sort === 'number';
  const key = (row) => !isNumber ? row.cells[column].textContent : Number(row.cells[column].dataset.v ?? NaN);
  rowsOf.append(...sorted([...rowsOf.rows], key, isNumber ? byNumber : byName, direction(head)));
}
function sortTensors(head) {
  const name = head.dataset.key, isText = ['name', 'kind', 'was'].includes(name), order_ = direction(head);
  const key = (row) => name === 'was' && row.tensors ? String(row.tensors) : row[name];
  for (const view of Object.keys(order)) order[view] = sorted(order[view], key, isText ? byName : byNumber, order_);
  render();
}
for (const button of document.querySelectorAll('.sortable thead button'))
  button.addEventListener('click', () => {
    const head = button.closest('th');
    if (head.closest('table') === table) sortTensors(head);
    else sortStatic(head);
  });

function reveal() {
  const match = /^#t(\d+)$/.exec(location.hash), row = match && rows.tensors[Number(match[1])];
  if (!row) return;
  if (!part(row.id)) show('tensors', {has: (other) => other === row, text: 'the one that was asked for'});
  for (const old of body.querySelectorAll('.hit')) old.classList.remove('hit');
  part(row.id).classList.add('hit');
  part(row.id).scrollIntoView({block: 'center'});
}
for (const drawing of document.querySelectorAll('.scatter'))
  drawing.addEventListener('click', (event) => {
    const row = event.target.dataset.row;
    if (row && location.hash === '#' + row) reveal();
    else if (row) location.hash = row;
  });
addEventListener('hashchange', reveal);
body.addEventListener('click', (event) => {
  const button = event.target.closest('button');
  if (!button) return;
  const name = button.textContent, isLayer = state.view === 'layers', groupOf = isLayer ? layerOf : roleOf;
  part('filter').value = state.words = '';
  show('tensors', {has: (row) => groupOf(row.name) === name, text: isLayer ? 'in ' + name : 'called ' + name});
  part('view').focus();
});
part('filter').addEventListener('input', () => {
  state.words = part('filter').value;
  render();
});
part('view').addEventListener('change', () => show(part('view').value, null));
part('parts').addEventListener('change', () => table.classList.toggle('parts', part('parts').checked));
part('more').addEventListener('click', more);
part('every').addEventListener('click', () => show('tensors', null));
new IntersectionObserver((seen) => {
  if (seen.some((entry) => entry.isIntersecting) && !part('more').hidden) more();
}).observe(part('more'));

for (const each of document.querySelectorAll('.sortable')) {
  each.setAttribute('role', 'table');
  const roles = [['thead, tbody', 'rowgroup'], ['tr', 'row'], ['thead th', 'columnheader'],
                 ['tbody th', 'rowheader'], ['td', 'cell']];
  for (const [what, role] of roles)
    for (const element of each.querySelectorAll(what)) element.setAttribute('role', role);
}
const first = rows.tensors.length <= allAtOnce ? 'tensors' :
    rows.roles.length ? 'roles' : rows.layers.length ? 'layers' : 'tensors';
show(first, null);
reveal();
)";

}  // namespace tool
