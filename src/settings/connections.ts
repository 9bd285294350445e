import type { Connection } from '../azure/connection.ts';
import { isHttpsOrLoopback, text } from './rules.ts';
import type { Given, SettingProblem } from './settings-error.ts';

/**
 * The connection from one of two settings, or the fault: both are set, or neither.
 */
export const oneConnection = (
  given: Given,
  [connectionStringName, endpointName]: readonly [connectionString: string, endpoint: string],
): Connection | SettingProblem => {
  const chosen = oneOf(given, [connectionStringName, endpointName]);
  if ('setting' in chosen) return chosen;
  const value = given[chosen.name] ?? '';
  return chosen.name === endpointName ? { endpoint: value } : { connectionString: value };
};

/**
 * The given setting of two, or the fault.
 */
export const oneOf = (
  given: Given,
  [first, second]: readonly [string, string],
): { readonly name: string } | SettingProblem => {
  if (given[first] !== undefined && given[second] !== undefined) {
    return { setting: second, detail: `cannot be set together with ${first}` };
  }
  if (given[first] === undefined && given[second] === undefined) {
    return { setting: first, detail: `is required unless ${second} is set` };
  }
  return { name: given[first] === undefined ? second : first };
};

/** The parts of a connection string, names in lower case; undefined where the text is not of that form. */
const partsOf = (value: string): ReadonlyMap<string, string> | undefined => {
  const parts = new Map<string, string>();
  for (const part of value.split(';')) {
    if (part.trim() === '') continue;
    const equals = part.indexOf('=');
    if (equals < 1) return undefined;
    parts.set(part.slice(0, equals).trim().toLowerCase(), part.slice(equals + 1).trim());
  }
  return parts;
};

const isBase64 = (value = ''): boolean => value !== '' && Buffer.from(value, 'base64').toString('base64') === value;

const isTablesConnectionString = (value: string): boolean => {
  const parts = partsOf(value);
  if (parts === undefined) return false;
  if (parts.get('usedevelopmentstorage')?.toLowerCase() === 'true') return true;
  const endpoint = parts.get('tableendpoint');
  if (endpoint !== undefined && !isHttpsOrLoopback(endpoint)) return false;
  if (endpoint === undefined && parts.get('defaultendpointsprotocol')?.toLowerCase() === 'http') return false;
  return parts.has('accountname')
    ? isBase64(parts.get('accountkey'))
    : endpoint !== undefined && parts.has('sharedaccesssignature');
};

const isAcsConnectionString = (value: string): boolean => {
  const parts = partsOf(value);
  return isBase64(parts?.get('accesskey')) && isHttpsOrLoopback(parts?.get('endpoint') ?? '');
};

const LOOPBACK_ONLY = '(http is accepted for loopback addresses only)';

/** A connection string of Azure Storage, with a key, a shared access signature, or for the emulator. */
export const tablesConnectionString = text.refine(
  isTablesConnectionString,
  `is not a storage connection string ${LOOPBACK_ONLY}`,
);

/** A connection string of Azure Communication Services. */
export const acsConnectionString = text.refine(
  isAcsConnectionString,
  `is not an ACS connection string ${LOOPBACK_ONLY}`,
);
