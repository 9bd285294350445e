import process from 'node:process';

/** `npm run bench`: all benchmarks; `npm run bench -- recording ranges`: those. Each prints ratios to a baseline of the same run. */
const BENCHES: Readonly<Record<string, () => Promise<unknown>>> = {
  recording: async () => (await import('./recording.ts')).recordingBench(),
  reading: async () => (await import('./reading.ts')).readingBench(),
  http: async () => (await import('./http.ts')).httpBench(),
  callbacks: async () => import('./callback-latency.ts'),
  startup: async () => import('./startup.ts'),
  ranges: async () => (await import('./ranges.ts')).rangesBench(),
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(BENCHES, name));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}: there are ${Object.keys(BENCHES).join(', ')}.`);
  process.exit(2);
}
for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted.length === 0 || wanted.includes(name)) await bench();
}
