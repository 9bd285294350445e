import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished, type TestContext } from 'vitest';

/** A directory for a test, by default for the running test; it is removed when that test is over. */
export const ownDirectory = (test: Pick<TestContext, 'onTestFinished'> = { onTestFinished }): string => {
  const directory = mkdtempSync(join(tmpdir(), 'wildfire-camera-activity-'));
  test.onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
};
