/** Part of `npm run check`: rejects long sentences and the habits of `rules.ts` in all pages, in comments, and in descriptions of the deployment. */
import { globSync, readFileSync } from 'node:fs';

import { faultsOf } from './rules.ts';
import { sentencesOf, sentencesOfBicep, sentencesOfComments, sentencesOfHashComments } from './sentences.ts';

const NOT_OURS = ['**/node_modules/**', 'dist/**', 'package/**', 'coverage/**'];

const KINDS = [
  { files: ['**/*.md'], read: sentencesOf },
  { files: ['{src,infra,bench,test}/**/*.{ts,tsx,mjs,cs}'], read: sentencesOfComments },
  { files: ['infra/**/*.bicep'], read: sentencesOfBicep },
  {
    files: ['{.ci,.github}/**/{*.yml,*.yaml,*.sh,run}', '*.{yaml,http}', '{infra,test}/**/*.{sh,py}'],
    read: sentencesOfHashComments,
  },
];

const faults = KINDS.flatMap(({ files, read }) =>
  globSync(files, { exclude: NOT_OURS })
    .toSorted()
    .flatMap((path) =>
      read(readFileSync(path, 'utf8')).flatMap(({ text, line }) =>
        faultsOf(text).map((fault) => `${path}:${line}: ${fault}\n    ${text}`),
      ),
    ),
);
for (const fault of faults) console.error(fault);
if (faults.length > 0) {
  console.error(`\n${faults.length} faults of wording. CONTRIBUTING.md has the style of the text.`);
  process.exitCode = 1;
}
