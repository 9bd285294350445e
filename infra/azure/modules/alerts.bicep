// The alerts. infra/azure/README.md ("Operate") says what to do about each.
param prefix string
param location string
param tags object
param insightsName string
param healthUrl string

@description('Who is told; empty for nobody.')
param alertEmail string

@description('Alert when no event was recorded for so long, ISO 8601, or never.')
param alertWhenQuietFor string

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource people 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: '${prefix}-people'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: 'wildfire'
    enabled: true
    emailReceivers: empty(alertEmail) ? [] : [
      {
        name: 'alert-email'
        emailAddress: alertEmail
        useCommonAlertSchema: true
      }
    ]
  }
}

// Requested every five minutes from five places; 200 only where storage answers. It notices what writes no log line, such as an app
// that does not start.
resource health 'Microsoft.Insights/webtests@2022-06-15' = {
  name: '${prefix}-health'
  location: location
  tags: union(tags, { 'hidden-link:${insights.id}': 'Resource' })
  kind: 'standard'
  properties: {
    SyntheticMonitorId: '${prefix}-health'
    Name: '${prefix}-health'
    Enabled: true
    Frequency: 300
    Timeout: 30
    Kind: 'standard'
    RetryEnabled: true
    Locations: [
      { Id: 'us-va-ash-azr' }
      { Id: 'us-ca-sjc-azr' }
      { Id: 'us-tx-sn1-azr' }
      { Id: 'us-il-ch1-azr' }
      { Id: 'emea-nl-ams-azr' }
    ]
    Request: {
      RequestUrl: healthUrl
      HttpVerb: 'GET'
      ParseDependentRequests: false
    }
    ValidationRules: {
      ExpectedHttpStatusCode: 200
      SSLCheck: true
      SSLCertRemainingLifetimeCheck: 7
    }
  }
}

resource unhealthy 'Microsoft.Insights/metricAlerts@2018-03-01' = {
  name: '${prefix}-unhealthy'
  location: 'global'
  tags: tags
  properties: {
    description: 'GET /api/health does not answer 200 from at least two places: the app does not run or cannot reach its tables.'
    severity: 0
    enabled: true
    scopes: [health.id, insights.id]
    evaluationFrequency: 'PT1M'
    windowSize: 'PT5M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.WebtestLocationAvailabilityCriteria'
      webTestId: health.id
      componentId: insights.id
      failedLocationCount: 2
    }
    actions: [{ actionGroupId: people.id }]
  }
}

// A single attempt that failed is no alarm: it is made again. These are what nobody will put right.
var failedCalls = '''
traces
| extend line = parse_json(message)
| where tostring(line.event) in ("recipient not reached", "message not played", "hang-up failed", "notification only in memory", "day limit reached", "callback events left")
'''

// The log's lines are JSON objects; `event` is the field that src/ names them by.
var logAlerts = [
  {
    name: 'failed-requests'
    description: 'More than five answers of 500 or above in five minutes.'
    severity: 1
    query: 'requests | where toint(resultCode) >= 500'
    operator: 'GreaterThan'
    threshold: 5
    window: 'PT5M'
    frequency: 'PT5M'
    enabled: true
  }
  {
    name: 'unexpected-errors'
    description: 'Something happened that the code does not know: its kind and place are in the line.'
    severity: 1
    query: 'union exceptions, (traces | where tostring(parse_json(message).event) == "unexpected error")'
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT5M'
    frequency: 'PT5M'
    enabled: true
  }
  {
    name: 'failed-calls'
    description: 'Somebody who should have been phoned was not reached, or heard nothing.'
    severity: 0
    query: failedCalls
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT5M'
    frequency: 'PT5M'
    enabled: true
  }
  {
    name: 'counts-not-moving'
    description: 'Nothing new was recorded: cameras, the AI or the way from them to POST /api/events have stopped.'
    severity: 2
    query: 'traces | extend line = parse_json(message) | where tostring(line.event) == "events recorded" and tolong(line.recorded) > 0'
    operator: 'LessThan'
    threshold: 1
    window: alertWhenQuietFor == 'never' ? 'PT30M' : alertWhenQuietFor
    frequency: 'PT15M'
    enabled: alertWhenQuietFor != 'never'
  }
]

resource rules 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [
  for rule in logAlerts: {
    name: '${prefix}-${rule.name}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: '${prefix} ${rule.name}'
      description: rule.description
      severity: rule.severity
      enabled: rule.enabled
      scopes: [insights.id]
      evaluationFrequency: rule.frequency
      windowSize: rule.window
      // The tables have no columns before the first line has arrived.
      skipQueryValidation: true
      autoMitigate: true
      criteria: {
        allOf: [
          {
            query: rule.query
            timeAggregation: 'Count'
            operator: rule.operator
            threshold: rule.threshold
            failingPeriods: {
              numberOfEvaluationPeriods: 1
              minFailingPeriodsToAlert: 1
            }
          }
        ]
      }
      actions: { actionGroups: [people.id] }
    }
  }
]
