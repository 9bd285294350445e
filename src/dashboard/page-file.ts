import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';

/** The files of the dashboard beside the bundle; the build makes them. */
export const DASHBOARD_FILES = { page: 'dashboard.html', policy: 'dashboard.json' } as const;

/** What `dashboard.json` holds: the header that belongs to the page, because `frame-ancestors` has no effect inside it. */
export interface DashboardPolicy {
  readonly content_security_policy: string;
}

/** The page, ready to be answered. */
export interface DashboardPage {
  readonly contentSecurityPolicy: string;
  /** Strong, of the page and its policy. */
  readonly etag: string;
  readonly html: Uint8Array;
  readonly gzipped: Uint8Array;
}

/** An answer with the page, or with the news that the caller has it already. */
export interface DashboardAnswer {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/**
 * The page, read when it is first asked for and never again: a cold start does not pay for it.
 *
 * @param directory where the bundle is
 * @returns a function that rejects where the files are missing or not what the build makes, and tries again the next time
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
  const [html, policy] = await Promise.all([
    readFile(join(directory, DASHBOARD_FILES.page)),
    readFile(join(directory, DASHBOARD_FILES.policy), 'utf8'),
  ]);
  const contentSecurityPolicy = policyOf(JSON.parse(policy));
  const hash = createHash('sha256').update(html).update(contentSecurityPolicy).digest('base64url');
  return {
    contentSecurityPolicy,
    etag: `"${hash}"`,
    html,
    gzipped: await promisify(gzip)(html, { level: constants.Z_BEST_COMPRESSION }),
  };
};

const policyOf = (json: unknown): string => {
  if (typeof json === 'object' && json !== null && 'content_security_policy' in json) {
    const { content_security_policy: policy } = json;
    if (typeof policy === 'string' && policy !== '') return policy;
  }
  throw new Error(`${DASHBOARD_FILES.policy} holds no policy.`);
};

/**
 * The answer to a request for the page.
 *
 * @param request its `accept-encoding` and `if-none-match` headers, null or undefined where it has none
 */
export const dashboardAnswer = (
  page: DashboardPage,
  request: { readonly acceptEncoding: string | null | undefined; readonly ifNoneMatch: string | null | undefined },
): DashboardAnswer => {
  const zipped = /\bgzip\b(?!\s*;\s*q=0(?:\.0+)?\s*(?:,|$))/i.test(request.acceptEncoding ?? '');
  // Another encoding is another representation: a strong tag tells them apart.
  const etag = zipped ? page.etag.replace(/"$/, '-gzip"') : page.etag;
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': page.contentSecurityPolicy,
    'cache-control': 'no-cache',
    etag,
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
  const known = new Set((request.ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, '')));
  if (known.has(etag) || known.has('*')) return { status: 304, headers };
  return {
    status: 200,
    headers: zipped ? { ...headers, 'content-encoding': 'gzip' } : headers,
    body: zipped ? page.gzipped : page.html,
  };
};
