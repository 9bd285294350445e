import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The build writes it next to the bundle. */
export const DASHBOARD_FILE = 'dashboard.html';

/** The page, compressed by the build. */
export const DASHBOARD_GZIP_FILE = `${DASHBOARD_FILE}.gz`;

/** The comment that holds the page's policy. The policy is sent as a header: `frame-ancestors` has no effect inside a page. */
export const policyComment = (policy: string): string => `<!-- Content-Security-Policy: ${policy} -->`;

export interface DashboardPage {
  readonly contentSecurityPolicy: string;
  /** A strong tag of the page and its policy. */
  readonly etag: string;
  readonly html: Uint8Array;
  readonly gzipped: Uint8Array;
}

/**
 * Reads the page at the first request, and keeps it: a cold start does not wait for it.
 *
 * @param directory the directory of the bundle
 * @returns a function that rejects without a usable file, and reads again at the next request
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
