import { startAzurite } from './infra/local/azurite.ts';
import { frames, requests } from './test/bench/workload.ts';
import { instantFrom, instantFromMilliseconds } from './src/analytics/model/instant.ts';
import { countersOn } from './test/bench/counters.ts';
const azurite = await startAzurite();
const H = 3_600_000_000n;
const start = instantFrom(BigInt(Date.now()) * 1000n - 30n * H);
const N = 6000, C = 200;
for (const [name, seconds] of [['25/s', 240n], ['1/s', 6000n]] as const) {
const ms = frames({ cameras: C, frames: N, step: seconds * 1_000_000n / BigInt(N), start, name });
for (const size of [100, 500]) {
 const { recorder } = countersOn(azurite.connectionString, `p${size}${name.replace('/', '')}`);
 let t = performance.now();
 for (const some of requests(ms, size)) await recorder.record(some);
 const first = performance.now() - t;
 const other = countersOn(azurite.connectionString, `p${size}${name.replace('/', '')}`).recorder;
 t = performance.now();
 for (const some of requests(ms, size)) await other.record(some);
 const again = performance.now() - t;
 const edits = countersOn(azurite.connectionString, `p${size}${name.replace('/', '')}`).recorder;
 const ed = ms.map((m) => ({ ...m, facets: { reviewed: { value: true, time: instantFrom(m.ts + 5n * H) } } }));
 t = performance.now();
 for (const some of requests(ed as never, size)) await edits.record(some as never);
 console.log(name, size, 'first', (first).toFixed(0), 'again', again.toFixed(0), 'edits', (performance.now() - t).toFixed(0));
}}
process.exit(0);
