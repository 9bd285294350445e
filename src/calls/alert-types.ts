/**
 * Every alert type: its name, the callback path (also the name of its function) and the phrase that is spoken.
 * The callback functions are registered from this table, and the notification's `alert_type` is checked against it:
 * to add an alert type, add a line here.
 */
export const ALERT_TYPES = [
  { name: 'Anomaly', callbackPath: 'AnomalyCallback', phrase: 'Anomaly has been reported.' },
  { name: 'PointOfInterest', callbackPath: 'PointOfInterestCallback', phrase: 'Point of interest has been reported.' },
  { name: 'ReportOfFire', callbackPath: 'ReportOfFireCallback', phrase: 'Report of a fire has been reported.' },
  { name: 'ConfirmedFire', callbackPath: 'ConfirmedFireCallback', phrase: 'Confirmed fire has been reported.' },
  { name: 'BurnJob', callbackPath: 'BurnJobCallback', phrase: 'Burn job has been reported.' },
  { name: 'Custom', callbackPath: 'CustomCallback', phrase: 'Custom Alert has been reported.' },
] as const satisfies readonly AlertTypeRow[];

interface AlertTypeRow {
  readonly name: string;
  /** Below `/api/`, without a slash. */
  readonly callbackPath: string;
  readonly phrase: string;
}

/** One line of {@link ALERT_TYPES}. */
export type AlertType = (typeof ALERT_TYPES)[number];

/** The name of an alert type, as requests and records carry it. */
export type AlertTypeName = AlertType['name'];

/** The names of all alert types, in the table's order. */
export const ALERT_TYPE_NAMES: readonly AlertTypeName[] = ALERT_TYPES.map((type) => type.name);

const BY_NAME: ReadonlyMap<string, AlertType> = new Map(ALERT_TYPES.map((type) => [type.name, type]));

/** The alert type of that name; undefined where there is none. Names are exact: `custom` is not `Custom`. */
export const findAlertType = (name: string): AlertType | undefined => BY_NAME.get(name);
