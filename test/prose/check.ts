/** Part of `npm run check`: rejects long sentences and the habits of `rules.ts` in all pages, and in comments. */
import { globSync, readFileSync } from 'node:fs';

import { faultsOf } from './rules.ts';
import { sentencesOf, sentencesOfComments } from './sentences.ts';

const FILES = ['**/*.md', '{src,infra,bench,test}/**/*.{ts,tsx,mjs}'];
const NOT_OURS = ['**/node_modules/**', 'dist/**', 'package/**', 'coverage/**'];

const faults = globSync(FILES, { exclude: NOT_OURS })
  .toSorted()
  .flatMap((path) => {
    const read = path.endsWith('.md') ? sentencesOf : sentencesOfComments;
    return read(readFileSync(path, 'utf8')).flatMap(({ text, line }) =>
      faultsOf(text).map((fault) => `${path}:${line}: ${fault}\n    ${text}`),
    );
  });
for (const fault of faults) console.error(fault);
if (faults.length > 0) {
  console.error(`\n${faults.length} faults of wording. CONTRIBUTING.md has the style of the text.`);
  process.exitCode = 1;
}
