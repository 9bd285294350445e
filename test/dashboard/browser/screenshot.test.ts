import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startService, startStandIn, type Target, YESTERDAY } from './target.ts';

const COMMAND = ['--import', 'tsx', 'infra/screenshot.ts'];

/** The width and the height of a PNG. */
const sizeOf = (png: Buffer): readonly [number, number] => {
  expect(png.subarray(1, 4).toString('latin1')).toBe('PNG');
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
};

let directory: string;
let service: Target;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'screenshot-'));
  service = await startService(undefined, { days: [YESTERDAY] });
});

afterAll(async () => {
  await service.close();
  await rm(directory, { recursive: true, force: true });
});

const screenshot = async (...args: readonly string[]) => promisify(execFile)(process.execPath, [...COMMAND, ...args]);

describe('npm run screenshot', () => {
  it('takes a picture of the page of a running service, and says of what', async () => {
    const out = join(directory, 'page.png');
    const args = ['--url', service.url, '--date', YESTERDAY, '--out', out, '--theme', 'dark', '--width', '900'];
    const { stdout } = await screenshot(...args, '--height', '700');

    expect(stdout).toBe(`${service.url}/api/dashboard?date=${YESTERDAY}&tz=utc\n${out}\n`);
    expect(sizeOf(await readFile(out))).toEqual([900, 700]);
  });

  it('says what is wrong, without a stack', async () => {
    const { service: keyed, close } = await startStandIn('a-key');
    const stderr = expect.not.stringMatching(/\n\s+at /);
    const out = join(directory, 'none.png');
    const refused = screenshot('--url', keyed.url, '--out', out);
    await expect(refused).rejects.toMatchObject({ code: 1, stderr });
    await expect(refused).rejects.toThrow('This service asks for a key.');
    await close();
    await expect(screenshot('--url', keyed.url, '--out', out)).rejects.toThrow('Nothing answers at');
    await expect(screenshot('--width', '5')).rejects.toThrow('5 is no width from 320 to 3840.');
  }, 60_000);
});

it('the picture in the README is one of these, and small', async () => {
  const picture = await readFile(new URL('../../../src/dashboard/screenshot.png', import.meta.url));

  expect(sizeOf(picture)[0]).toBe(1_600);
  expect(picture.byteLength).toBeLessThan(300_000);
});
