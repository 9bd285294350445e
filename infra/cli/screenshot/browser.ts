import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { type Browser, chromium } from 'playwright-core';
import { z } from 'zod';

const MODULES = fileURLToPath(new URL('../../../node_modules/', import.meta.url));

/**
 * Starts the browser for tests of the page: on Linux x64 the Chromium of an npm package with its own libraries and fonts, elsewhere the installed
 * Chrome.
 *
 * @throws {Error} without a browser: tests of the page are never skipped
 */
export const launchBrowser = async (): Promise<Browser> => {
  if (process.platform !== 'linux' || process.arch !== 'x64') return chromium.launch({ channel: 'chrome' });
  const directory = await unpacked();
  const libraries = [join(directory, 'al2023/lib'), process.env['LD_LIBRARY_PATH'] ?? ''].filter((path) => path !== '');
  // No flags of the package: some allow a page more than a reader's browser does.
  return chromium.launch({
    executablePath: join(directory, 'chromium'),
    // A container often allows no sandbox; the only pages that are opened are the project's own.
    chromiumSandbox: false,
    args: ['--font-render-hinting=none'],
    env: { ...process.env, FONTCONFIG_PATH: join(directory, 'fonts'), LD_LIBRARY_PATH: libraries.join(':') },
  });
};

/** The package's archives, unpacked once into the cache of node_modules. */
const unpacked = async (): Promise<string> => {
  const manifest: unknown = JSON.parse(await readFile(join(MODULES, '@sparticuz/chromium/package.json'), 'utf8'));
  const { version } = z.object({ version: z.string() }).parse(manifest);
  const cache = join(MODULES, '.cache');
  const directory = join(cache, `chromium-${version}`);
  if (existsSync(directory)) return directory;
  await mkdir(cache, { recursive: true });
  // Unpacked elsewhere, then renamed: two test files may unpack at the same time, and must not start half a browser.
  const making = await mkdtemp(join(cache, 'chromium-'));
  try {
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', UNPACK], {
      cwd: MODULES,
      // It unpacks into the temporary directory. It unpacks its libraries only on AWS Lambda.
      env: { ...process.env, TMPDIR: making, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x' },
    });
    await writeFile(join(making, 'fonts/fonts.conf'), fontsConfiguration(directory));
    await rename(making, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return directory;
};

const UNPACK = "import chromium from '@sparticuz/chromium'; await chromium.executablePath();";

/** The fonts of the package and of the machine. */
const fontsConfiguration = (directory: string): string => `<?xml version="1.0"?>
<fontconfig>
  <dir>${directory}/fonts/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${directory}/fonts-cache</cachedir>
</fontconfig>
`;
