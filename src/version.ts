/** The version of this service, as `package.json` and the newest release of `CHANGELOG.md` say it. */
export const VERSION = '1.0.0';
