/** Settings by name, without empty ones. */
export type Given = Readonly<Record<string, string | undefined>>;

/** A problem with one setting: its name and its fault, never its value. */
export interface SettingProblem {
  readonly setting: string;
  readonly detail: string;
}

/** Thrown at load when settings are wrong or missing. Names every problem at once and prints no value. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: readonly SettingProblem[];

  constructor(problems: readonly SettingProblem[]) {
    super(['The app cannot start:', ...problems.map((p) => `  ${p.setting}: ${p.detail}`)].join('\n'));
    this.problems = problems;
  }
}
