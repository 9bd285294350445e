import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
const ROOT = process.argv[2]!; const OUT = process.argv[3]!; const only = process.argv[4];
const { buildDashboard } = await import(`${ROOT}/infra/build/dashboard.ts`);
const { dashboardPage } = await import(`${ROOT}/src/dashboard/page-file.ts`);
const { launchBrowser } = await import(`${ROOT}/infra/cli/screenshot/browser.ts`);
const { PageAnswers, NOON, notification, missed, person, before, WAVES } = await import(`${ROOT}/test/dashboard/answers.ts`);
await mkdir(OUT, { recursive: true });
const dist = `${OUT}/dist`;
await buildDashboard(dist);
const page0 = await dashboardPage(dist)();
console.log('gzip', page0.gzipped.length);
const N = [
  notification('running', { details: 'North ridge, mile 4', reference: 'ridge-1 https://example.org/a/long/long/long/long/long/path/4', recipients: WAVES, confirmations_needed: 2, next_wave_at: before(-40) }),
  missed('m1', { details: 'Antelope canyon, above the old quarry road, on the way to the creek' }),
  missed('taken', { alert_type: 'ReportOfFire', acknowledged_by: 'Ana', acknowledged_at: before(9), details: 'Mile 9' }),
  notification('heard', { status: 'completed', recipients: [person('55', 'heard'), person('56', 'confirmed'), person('56', 'waiting')].slice(0,1), details: 'Lost hill' }),
  notification('many', { recipients: [person('1','confirmed',{name:'Bo'}), person('2','heard'), person('3','ringing'), person('4','waiting'), person('5','not_reached')], alert_type: 'Anomaly', details: 'Smoke column' }),
  missed('drill', { alert_type: 'Custom', details: 'Monthly drill' }),
];
const SERVICE = { notifications: N, categories: ['fire', 'smoke', 'structure', 'vehicle', 'person', 'lightning', 'animal', 'constructor', 'dust', 'fog'],
  lastSeen: Object.fromEntries([...Array.from({length: 60}, (_, i) => [`ridge-${i}`, 60]), ['silent-1', 3600], ['gone-1', 9*86400]]), frames: 12345, previousFrames: 10000 };
let service: any;
const server = createServer((q, r) => void (async () => {
  const url = q.url ?? '';
  if (url.startsWith('/api/dashboard')) return r.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': page0.contentSecurityPolicy }).end(page0.html);
  const headers = Object.entries(q.headers).map(([n, v]) => [n, String(v)]);
  let body = ''; for await (const c of q) body += c;
  r.sendDate = false;
  try { const a = await service.fetch(url, { method: q.method, headers, body }); r.writeHead(a.status, Object.fromEntries(a.headers)).end(Buffer.from(await a.arrayBuffer())); } catch { r.destroy(); }
})());
await new Promise<void>((d) => server.listen(0, '127.0.0.1', d));
const base = `http://127.0.0.1:${(server.address() as any).port}`;
const browser = await launchBrowser();
type Shot = { name: string; w: number; h: number; search?: string; ctx?: object; media?: object; svc?: object; do?: (p: any) => Promise<void>; full?: boolean };
const HOSTILE = ['<img src=x>', 'حريق-الجبل-٠٤', 'x'.repeat(128), 'a?b=c&d#e/f%20h'];
const shots: Shot[] = [
  { name: 'big', w: 390, h: 844, search: '?ts_utc_start=2026-11-20T12:00:00Z&ts_utc_end=2026-11-20T12:07:59.999999Z&camera_id=' + 'x'.repeat(128), svc: { categories: ['fire', 'smoke', 'structure', 'constructor', 'category-'.repeat(7)], lastSeen: Object.fromEntries(['ridge-1', ...HOSTILE].map((id) => [id, 60])) }, do: async (p) => { for (const x of await p.locator('.numbers summary').all()) await x.click(); await p.waitForTimeout(0).catch(()=>0); await p.evaluate("document.documentElement.style.fontSize = '200%'"); } },
  { name: 'desk-light', w: 1440, h: 900, full: true },
  { name: 'desk-dark', w: 1440, h: 900, ctx: { colorScheme: 'dark' }, full: true },
  { name: 'desk-drawer', w: 1440, h: 900, search: '?tz=utc&notification=running', ctx: { colorScheme: 'dark' } },
  { name: 'tools', w: 1440, h: 900, do: async (p) => { await p.evaluate('document.getElementById("shown").scrollIntoView()'); await p.evaluate('scrollBy(0,-120)'); await p.getByRole('button', { name: /^Range/ }).click(); } },
  { name: 'combo', w: 1024, h: 800, do: async (p) => { await p.locator('#camera').click(); await p.keyboard.type('s'); await p.keyboard.press('ArrowDown'); } },
  { name: 'tip', w: 1440, h: 900, do: async (p) => { await p.locator('.tip button').nth(1).focus(); await p.locator('.tip button').nth(1).scrollIntoViewIfNeeded(); } },
  { name: 'take', w: 1440, h: 900, do: async (p) => { await p.getByRole('button', { name: /^Stop: / }).first().click(); } },
  { name: 'keys', w: 1440, h: 900, do: async (p) => { await p.keyboard.press('?'); } },
  { name: 'phone', w: 390, h: 844, ctx: { hasTouch: true, isMobile: true }, full: true },
  { name: 'phone-320', w: 320, h: 640, full: true, do: async (p) => { await p.getByRole('button', { name: /^Range/ }).click(); } },
  { name: 'phone-drawer', w: 390, h: 844, search: '?tz=utc&notification=running', ctx: { hasTouch: true, isMobile: true } },
  { name: 'tablet', w: 820, h: 1100, full: true },
  { name: 'wall', w: 1920, h: 1080, search: '?wall&tz=utc' },
  { name: 'print', w: 700, h: 990, media: { media: 'print' }, full: true },
  { name: 'forced', w: 1280, h: 900, media: { forcedColors: 'active', colorScheme: 'dark' } },
  { name: 'key', w: 1280, h: 700, svc: { key: 'x' } },
  { name: 'silent', w: 1280, h: 1400, full: true, svc: { frames: 0, categories: ['fire', 'smoke'], notifications: [], lastSeen: { 'ridge-1': 86400, b: 90000 } }, do: async (p) => { await p.getByRole('link', { name: 'Show', exact: true }).click(); await p.locator('.numbers summary').first().click(); } },
];
for (const s of shots) {
  if (only !== undefined && !new RegExp(only).test(s.name)) continue;
  service = Object.assign(new PageAnswers(), SERVICE, s.svc);
  const ctx = await browser.newContext({ locale: 'en-US', timezoneId: 'America/Los_Angeles', viewport: { width: s.w, height: s.h }, ...s.ctx });
  const p = await ctx.newPage();
  p.on('pageerror', (e: any) => console.log(s.name, String(e))); p.on('console', (m: any) => { if (!m.text().startsWith('Failed to load')) console.log(s.name, m.text()); });
  await p.clock.install({ time: NOON - 3_600_000 }); await p.clock.pauseAt(NOON);
  await p.goto(`${base}/api/dashboard${s.search ?? '?tz=utc'}`);
  if (!(s.svc as any)?.key) await p.locator('[data-lamp=Data].good').waitFor(); else await p.locator('#key').waitFor();
  if (s.do) await s.do(p);
  if (s.name === 'big') { console.log(JSON.stringify(await p.evaluate(`[...document.querySelectorAll('#page *')].filter(e => e.getBoundingClientRect().right > 392 && !e.closest('.scroll')).map(e => e.tagName + '.' + e.className + ' ' + Math.round(e.getBoundingClientRect().right)).slice(0, 30)`)), await p.evaluate('document.documentElement.scrollWidth')); }
  if (s.media) await p.emulateMedia(s.media);
  await p.waitForTimeout(150).catch(() => undefined);
  await p.screenshot({ path: `${OUT}/${s.name}.png`, animations: 'disabled', fullPage: s.full ?? false });
  await ctx.close();
}
await browser.close(); server.close();
