import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The file of the dashboard beside the bundle; the build makes it. */
export const DASHBOARD_FILE = 'dashboard.html';

/** The same, compressed by the build. */
export const DASHBOARD_GZIP_FILE = `${DASHBOARD_FILE}.gz`;

/**
 * The comment in the file that holds the page's Content-Security-Policy: it is sent as a header, because `frame-ancestors` has no
 * effect inside the page.
 */
export const policyComment = (policy: string): string => `<!-- Content-Security-Policy: ${policy} -->`;

/** The page, ready to be answered. */
export interface DashboardPage {
  readonly contentSecurityPolicy: string;
  /** Strong, of the page and its policy. */
  readonly etag: string;
  readonly html: Uint8Array;
  readonly gzipped: Uint8Array;
}

/**
 * The page, read when it is first asked for and never again: a cold start does not pay for it.
 *
 * @param directory where the bundle is
 * @returns a function that rejects where the file is missing or not what the build makes, and tries again the next time
 */
export const dashboardPage = (directory: string): (() => Promise<DashboardPage>) => {
  let reading: Promise<DashboardPage> | undefined;
  return async () => {
    reading ??= readPage(directory);
    try {
      return await reading;
    } catch (error) {
      reading = undefined;
      throw error;
    }
  };
};

const readPage = async (directory: string): Promise<DashboardPage> => {
  const html = await readFile(join(directory, DASHBOARD_FILE));
  const gzipped = await readFile(join(directory, DASHBOARD_GZIP_FILE));
  const [, contentSecurityPolicy] = /^<!-- Content-Security-Policy: (.+) -->$/m.exec(html.toString('utf8')) ?? [];
  if (contentSecurityPolicy === undefined) throw new Error(`${DASHBOARD_FILE} holds no policy.`);
  return {
    contentSecurityPolicy,
    etag: `"${createHash('sha256').update(html).digest('base64url')}"`,
    html,
    gzipped,
  };
};
