import { recordingBench } from './recording.ts';

/** The benchmarks by name; `npm run bench -- recording` runs one. */
const BENCHES: Readonly<Record<string, () => Promise<void>>> = { recording: recordingBench };

const wanted = process.argv.slice(2);
for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted.length === 0 || wanted.includes(name)) await bench();
}
