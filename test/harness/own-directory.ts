import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

/** A directory for the test that runs; it is removed when that test is over. */
export const ownDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'wildfire-camera-activity-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
};
