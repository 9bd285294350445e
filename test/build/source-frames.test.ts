import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, inject, it, onTestFinished } from 'vitest';

import { bundle } from '../../infra/build/bundle.ts';
import { sourceFrames } from '../../src/source-frames.ts';
import { startApp } from '../harness/app.ts';
import { LOAD_BUNDLE } from '../harness/bundled.ts';
import { ownDirectory } from '../harness/own-directory.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FIXTURE = 'test/build/fixtures/failing-app.ts';

/** The stack of a bundle that is loaded with wrong settings, as Node prints it. */
const stackOf = (path: string): string =>
  spawnSync(process.execPath, [LOAD_BUNDLE, path], { env: {}, encoding: 'utf8' }).stderr;

/** The line of the sources that a frame names. */
const lineOf = (frame: string | undefined): string => {
  const [, path = '', line = '0'] = /([\w./-]+\.ts):(\d+):\d+\)?$/.exec(frame ?? '') ?? [];
  return path === '' ? '' : (readFileSync(resolve(ROOT, path), 'utf8').split('\n')[Number(line) - 1] ?? '');
};

describe('the frames of an error in the release bundle', () => {
  it.each([undefined, 'no JSON', '{"version":3,"sources":[],"names":[],"mappings":""}'])(
    'stay as they are with the map %s',
    (map) => {
      const path = join(ownDirectory(), 'main.cjs');
      copyFileSync(inject('bundles').release, path);
      if (map !== undefined) writeFileSync(`${path}.map`, map);
      expect(sourceFrames(stackOf(path), 2).join('\n')).toContain(`${path}:`);
    },
  );

  it('stay as they are outside of bundles', () => {
    const stack = 'Error: x\n    at node:internal/main:1:2\n    at async Promise.all (index 0)';
    expect(sourceFrames(stack, 8)).toEqual(['at node:internal/main:1:2', 'at async Promise.all (index 0)']);
  });

  it('are what the log says of an error that nobody expected, without its message', async () => {
    const outfile = join(ownDirectory(), 'main.cjs');
    await bundle({ entry: join(ROOT, FIXTURE), outfile, debug: false });
    const app = await startApp({ bundle: { path: outfile }, environment: {} });
    onTestFinished(() => app.stop());
    expect((await fetch(`${app.url}/api/failing`)).status).toBe(500);
    await expect.poll(() => app.output()).toContain('"event":"unexpected error"');

    const at = /"at":"at (.*?) < /.exec(app.output())?.[1];
    expect(at).toMatch(/failing-app\.ts:\d+:\d+\)$/);
    expect(lineOf(at)).toContain('throw new RangeError');
    expect(app.output()).not.toContain('206555');
  });
});
