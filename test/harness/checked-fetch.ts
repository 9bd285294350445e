import assert from 'node:assert/strict';

import { Contract } from './contract.ts';

/** `fetch` for an app: throws where an answer is not as the app's own description of its API says. */
export type CheckedFetch = (url: string, init?: RequestInit) => Promise<Response>;

/** To compile a description takes longer than a request. */
const contracts = new Map<string, Contract>();

/**
 * A `fetch` that compares every answer with the description that an app serves; only a test's own app that serves none is not checked.
 *
 * @param appUrl without a slash at its end; answers of other instances of the same build may be fetched too
 * @example
 * const fetchChecked = await checkedFetch(app.url);
 * const answer = await fetchChecked(`${app.url}/api/health`);
 */
export const checkedFetch = async (appUrl: string): Promise<CheckedFetch> => {
  const served = await fetch(`${appUrl}/api/openapi.json`);
  if (served.status === 404) return fetch;
  const description = await served.text();
  const contract = contracts.get(description) ?? new Contract(JSON.parse(description));
  contracts.set(description, contract);
  return async (url, init = {}) => {
    const answer = await fetch(url, init);
    const { pathname, search } = new URL(url);
    const { status, headers } = answer;
    const given = { method: init.method ?? 'GET', path: `${pathname}${search}`, status, headers };
    assert.deepEqual(contract.objectionsTo({ ...given, body: await answer.clone().text() }), []);
    return answer;
  };
};
