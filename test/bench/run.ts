import { httpBench } from './http.ts';
import { rangesBench } from './ranges.ts';
import { readingBench } from './reading.ts';
import { recordingBench } from './recording.ts';

/** The benchmarks by name; `npm run bench -- recording` runs one. */
const BENCHES: Readonly<Record<string, () => Promise<void>>> = {
  recording: recordingBench,
  reading: readingBench,
  http: httpBench,
  ranges: rangesBench,
};

const wanted = process.argv.slice(2);
for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted.length === 0 || wanted.includes(name)) await bench();
}
