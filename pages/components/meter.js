/* The meter of the next send. The page says what is there; what is being written is added here,
 * as it is written. State lives by parent element: this module runs again on every change. */

const BOX = '[data-testid="stChatInputTextArea"]';
const EVERY = 15000; // ms between two looks at the clock, for what stays warm only so long
const DRAFT = 'your draft';
// The same estimate as core/estimate.py, without the samples of very long texts.
const PIECE =
  /([A-Za-z]+)|(\d+)|([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])|([\u{10000}-\u{10ffff}])|(\p{L}+)|([^\p{L}\p{N}\s]|\n+| {2,})/gu;
const LONGEST = 400000; // characters of a draft that are looked at

const meters = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  let meter = meters.get(parentElement);
  if (!meter) meters.set(parentElement, (meter = start(parentElement)));
  meter.data = data;
  meter.waiting = false;
  meter.send = (act) => setTriggerValue('act', { ...act, n: Date.now() + meter.acts++ });
  update(meter);
  return () => {
    meter.stop();
    meters.delete(parentElement);
  };
}

function start(parent) {
  const root = make('section', 'meter', { 'aria-label': 'Next send' });
  const total = row('Next send', 'head');
  const bar = make('div', 'bar', { role: 'meter', 'aria-valuemin': 0 });
  const legend = make('p', 'legend');
  const files = make('p', 'files');
  const warning = make('p', 'warning', { role: 'status' });
  const foot = make('div', 'foot');
  const warm = row('Warm');
  const price = row('Price');
  const save = row('A recap would save');
  const acts = make('div', 'acts');
  const look = make('button', 'look', { type: 'button' });
  look.textContent = 'What will be sent';
  const recap = make('button', 'recap', { type: 'button' });
  recap.textContent = 'Recap…';
  const count = make('button', 'count', { type: 'button' });
  const tip = make('div', 'tip', { id: 'tip', role: 'tooltip' });
  foot.append(warm.box, price.box, save.box);
  acts.append(look, recap, count);
  root.append(total.box, bar, legend, files, warning, foot, acts, tip);
  parent.append(root);
  const parts = { root, total, bar, legend, files, warning, warm, price, save, recap, count, tip };
  const meter = { ...parts, acts: 0, waiting: false };
  for (const one of [total.box, warm.box, price.box, save.box]) tell(meter, one);
  look.addEventListener('click', () => meter.send({ action: 'preview' }));
  recap.addEventListener('click', () => meter.send({ action: 'recap' }));
  count.addEventListener('click', () => {
    meter.waiting = true;
    meter.send({ action: 'count' });
    update(meter);
  });
  const ended = new AbortController();
  document.addEventListener('input', (event) => event.target.matches?.(BOX) && update(meter), {
    capture: true,
    signal: ended.signal,
  });
  const clock = setInterval(() => update(meter), EVERY);
  meter.stop = () => {
    ended.abort();
    clearInterval(clock);
    root.remove();
  };
  return meter;
}

function make(tag, name, attributes = {}) {
  const made = document.createElement(tag);
  made.className = name;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function row(name, more = '') {
  const box = make('p', `row ${more}`.trim(), { tabindex: '0', 'aria-describedby': 'tip' });
  const label = make('span', 'name');
  const value = make('span', 'value');
  label.textContent = name;
  box.append(label, ' ', value);
  return { box, value };
}

/* One tip for all rows, under the one that is pointed at. */
function tell(meter, box) {
  const show = () => {
    meter.tip.textContent = box.dataset.about;
    meter.tip.style.top = `${box.offsetTop + box.offsetHeight + 4}px`;
    meter.tip.classList.add('shown');
  };
  const hide = () => meter.tip.classList.remove('shown');
  box.addEventListener('pointerenter', show);
  box.addEventListener('focus', show);
  box.addEventListener('pointerleave', hide);
  box.addEventListener('blur', hide);
  box.addEventListener('keydown', (event) => event.key === 'Escape' && hide());
}

/* ---- drawing ---- */

function update(meter) {
  const { data } = meter;
  const draft = Math.round(estimate(document.querySelector(BOX)?.value ?? '') * data.factor);
  const tokens = data.tokens + draft;
  const share = data.window ? tokens / data.window : 0;
  const level = share >= data.level.full ? 'full' : share >= data.level.near ? 'near' : 'fine';
  const parts = data.parts.map(([name, count]) => [name, name === DRAFT ? draft : count]);
  meter.root.dataset.level = level;
  total(meter, tokens, share, data.exact && !draft ? '' : '≈ ', draft);
  bar(meter, parts, tokens, share);
  legend(meter, parts);
  put(meter.files, [data.files, data.first].filter(Boolean).join(' · '));
  put(meter.warning, data.warnings[level] ?? '');
  warm(meter, tokens);
  meter.price.value.textContent = data.price.text;
  meter.price.box.dataset.about = data.price.about;
  const { saving } = data;
  meter.save.box.hidden = !saving;
  if (saving) {
    meter.save.value.textContent = saving.text;
    meter.save.box.dataset.about = saving.about;
  }
  meter.recap.hidden = !saving && level === 'fine';
  meter.count.hidden = !data.countable;
  meter.count.disabled = meter.waiting;
  meter.count.textContent = meter.waiting ? 'Counting…' : 'Count exactly';
}

function put(element, words) {
  if (element.textContent !== words) element.textContent = words; // a status is read out once
  element.hidden = !words;
}

function total(meter, tokens, share, sign, draft) {
  const { window: most, about } = meter.data;
  const of = most ? ` of ${number(most)} · ${percent(share)}` : ' · window unknown';
  meter.total.value.textContent = `${sign}${number(tokens)}${of}`;
  meter.total.box.dataset.about = draft ? about : `${about} Plus what you write.`;
}

function bar(meter, parts, tokens, share) {
  const whole = Math.max(tokens, 1);
  const filled = Math.min(1, share);
  meter.bar.hidden = !meter.data.window;
  meter.bar.setAttribute('aria-label', 'Share of the window');
  meter.bar.setAttribute('aria-valuemax', meter.data.window ?? 0);
  meter.bar.setAttribute('aria-valuenow', tokens);
  meter.bar.setAttribute('aria-valuetext', `${percent(share)} of the window`);
  while (meter.bar.childElementCount < parts.length) {
    meter.bar.append(make('span', `of-${meter.bar.childElementCount}`));
  }
  parts.forEach(([, count], place) => {
    const segment = meter.bar.children[place];
    const width = (count / whole) * filled * 100;
    segment.hidden = count === 0;
    segment.style.width = `${width.toFixed(2)}%`;
  });
}

function legend(meter, parts) {
  const entries = parts
    .map(([name, count], place) => [name, count, place])
    .filter(([name, count]) => count > 0 || name === DRAFT) // always, so that nothing jumps
    .map(([name, count, place]) => {
      const entry = document.createElement('span');
      entry.append(make('i', `of-${place}`), `${name} ${number(count)}`);
      return entry;
    });
  meter.legend.replaceChildren(...entries);
}

function warm(meter, tokens) {
  const { tokens: kept, until, about } = meter.data.warm;
  const left = until === null ? null : until - Date.now();
  const cold = kept === 0 || (left !== null && left <= 0);
  meter.warm.box.dataset.about = about;
  if (kept === null) meter.warm.value.textContent = 'unknown';
  else if (cold) meter.warm.value.textContent = 'nothing';
  else {
    const minutes = left === null ? '' : `, ${Math.max(1, Math.ceil(left / 60000))} min left`;
    meter.warm.value.textContent = `${percent(kept / Math.max(tokens, kept, 1))}${minutes}`;
  }
}

function number(count) {
  return count.toLocaleString('en-US');
}

function percent(share) {
  if (share > 0 && share < 0.01) return '<1%';
  return `${Math.floor(share * 100)}%`;
}

/* ---- the estimate ---- */

function estimate(text) {
  const words = text.trim().slice(0, LONGEST);
  if (!words) return 0;
  let sum = 0;
  for (const [piece, latin, digits, cjk, rare, other] of words.matchAll(PIECE)) {
    if (latin) sum += Math.ceil(piece.length / 7);
    else if (digits) sum += Math.ceil(piece.length / 3);
    else if (cjk) sum += 0.8;
    else if (rare) sum += 1.8;
    else if (other) sum += Math.max(1, piece.length / 3.5);
    else sum += 0.7;
  }
  return sum + 4; // and what a message takes besides its words
}
