import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { CommandError } from '../../../infra/cli/command-line.ts';
import { takePicture } from '../../../infra/cli/screenshot/picture.ts';
import { frame, NOON, TODAY } from './activity.ts';
import { setStage } from './stage.ts';

/** The width and the height of a PNG. */
const sizeOf = (png: Buffer): readonly [number, number] => {
  expect(png.subarray(1, 4).toString('latin1')).toBe('PNG');
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
};

const stage = setStage([frame('ridge-04', NOON)]);
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'screenshot-'));
});

afterAll(() => rm(directory, { recursive: true }));

/** Takes the picture. */
const screenshot = async (...args: readonly string[]) => {
  const out = join(directory, 'page.png');
  const command = [
    '--import',
    'tsx',
    'infra/cli/screenshot.ts',
    '--url',
    stage.service.url,
    '--date',
    TODAY,
    '--out',
    out,
  ];
  return { out, ...(await promisify(execFile)(process.execPath, [...command, ...args])) };
};

describe('npm run screenshot', () => {
  it('takes a picture of the page of a running service, and says of what', async () => {
    const { out, stdout, stderr } = await screenshot('--theme', 'dark', '--width', '900', '--height', '700');
    expect(stderr).toBe('Waiting for the answers to all questions of the page …\n');
    expect(stdout).toBe(`${stage.service.url}/api/dashboard?date=${TODAY}&tz=utc\n${out}\n`);
    expect(sizeOf(await readFile(out))).toEqual([900, 700]);
  });

  it('says what is wrong: that a key is asked for, that nothing answers', async () => {
    stage.service.key = 'a-key';
    const picture = { date: TODAY, out: join(directory, 'none.png'), theme: 'light', width: 900 } as const;
    await expect(takePicture({ ...picture, url: new URL(stage.service.url) })).rejects.toThrow(
      new CommandError('This service asks for a key.'),
    );
    await expect(takePicture({ ...picture, url: new URL('http://127.0.0.1:9') })).rejects.toThrow(
      /^Nothing answers at http:\/\/127\.0\.0\.1:9\/api\/dashboard/,
    );
  });
});

it('the picture in the README is one of these, and small', async () => {
  const picture = await readFile(new URL('../../../src/dashboard/screenshot.png', import.meta.url));
  expect(sizeOf(picture)[0]).toBe(1_600);
  expect(picture.byteLength).toBeLessThan(300_000);
});
