// Everything the service runs on in Azure. `azd up` deploys it (azure.yaml); README.md ("Deploy") says what is left to do by hand.
//
// These files were written from the published resource reference and were not compiled where they were written. Before the
// first deployment run `az bicep build --file infra/azure/main.bicep` and `azd provision --preview`.
targetScope = 'subscription'

@minLength(1)
@maxLength(64)
@description('Name of the azd environment; every resource name is derived from it.')
param environmentName string

@minLength(1)
@description('Region of everything that has one. Must offer Flex Consumption and Azure AI services.')
@metadata({ azd: { type: 'location' } })
param location string

@minLength(1)
@maxLength(200)
@description('Name of the service, spoken in every call.')
param serviceName string

@description('The number that calls, E.164. Empty only until it has been bought: the app does not start without it.')
param acsSourcePhoneNumber string = ''

@allowed(['on', 'off'])
@description('on, or off: nobody is phoned, and no ACS setting is needed.')
param phone string = 'on'

@description('In place of the number: the object id of the Teams resource account that calls (Teams Phone extensibility).')
param acsTeamsResourceAccountId string = ''

@minValue(1)
@maxValue(10)
@description('Calls to one person at most.')
param callAttempts int = 3

@minValue(5)
@maxValue(3600)
@description('Seconds between two calls to one person.')
param callRetrySeconds int = 60

@minValue(1)
@maxValue(1440)
@description('Minutes after which nobody is called any more.')
param notificationDeadlineMinutes int = 30

@description('How the numbers that may be called begin, with commas between them, such as +1,+64. Empty: all numbers.')
param phoneAllowedPrefixes string = ''

@minValue(1)
@maxValue(100000)
@description('Calls a UTC day at most.')
param callsPerDay int = 1000

@description('When the timer looks for calls that are due or overdue, NCRONTAB.')
param sweepSchedule string = '*/30 * * * * *'

@minValue(2)
@maxValue(3650)
@description('Days for which rows about calls are kept.')
param callRetentionDays int = 90

@description('Where Communication Services keeps its data at rest. Decides which numbers can be bought. Cannot be changed later.')
param acsDataLocation string = 'United States'

@description('Who is told of alerts. Empty: alerts fire and are seen in the portal only.')
param alertEmail string = ''

@description('Alert when no event was recorded for so long, ISO 8601, or never, for cameras that sleep.')
@allowed(['never', 'PT15M', 'PT30M', 'PT1H', 'PT6H', 'P1D'])
param alertWhenQuietFor string = 'PT30M'

@description('Origins of browser dashboards, with commas between them, such as https://dash.example.org. Empty: none.')
param corsOrigins string = ''

@description('Categories that are always present in the answers, with commas between them.')
param detectionCategories string = 'fire,smoke,structure'

@minValue(1)
@maxValue(31622400)
@description('The sliding window of the analytics, in seconds.')
param cacheTsUtcWindowSeconds int = 86400

@minValue(1)
@maxValue(64)
@description('Shards of a day that has no data yet.')
param counterShards int = 1

@maxLength(5)
@description('Days after whose end a UTC day is closed and its events are deleted, 1 to 36500. Empty: never.')
param eventRetentionDays string = ''

@maxLength(50)
@description('Put before the table names. A letter and up to 49 letters or digits, or empty.')
param tablesPrefix string = ''

@description('Redundancy of the storage account. Zones by default: the counts live nowhere else.')
@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_GZRS'])
param storageSku string = 'Standard_ZRS'

@minValue(0)
@maxValue(20)
@description('Instances that are always warm. At 0 whoever picks up a call may wait in silence for a cold start.')
param alwaysReadyInstances int = 1

@minValue(40)
@maxValue(1000)
@description('The most instances there may be.')
param maximumInstanceCount int = 40

@description('Object id of the person who deploys: may read the tables, for `npm run audit`. Empty: nobody but the app.')
param operatorPrincipalId string = ''

var token = toLower(uniqueString(subscription().id, environmentName, location))
var tags = { 'azd-env-name': environmentName }

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: 'rg-${environmentName}'
  location: location
  tags: tags
}

module identity 'modules/identity.bicep' = {
  name: 'identity'
  scope: group
  params: {
    name: 'id-${token}'
    location: location
    tags: tags
  }
}

module monitoring 'modules/monitoring.bicep' = {
  name: 'monitoring'
  scope: group
  params: {
    workspaceName: 'log-${token}'
    insightsName: 'appi-${token}'
    location: location
    tags: tags
    appPrincipalId: identity.outputs.principalId
  }
}

module storage 'modules/storage.bicep' = {
  name: 'storage'
  scope: group
  params: {
    name: 'st${token}'
    sku: storageSku
    location: location
    tags: tags
    tablesPrefix: tablesPrefix
    appPrincipalId: identity.outputs.principalId
    operatorPrincipalId: operatorPrincipalId
  }
}

module calls 'modules/calls.bicep' = {
  name: 'calls'
  scope: group
  params: {
    communicationName: 'acs-${token}'
    speechName: 'cog-${token}'
    dataLocation: acsDataLocation
    location: location
    tags: tags
    appPrincipalId: identity.outputs.principalId
  }
}

module app 'modules/app.bicep' = {
  name: 'app'
  scope: group
  params: {
    name: 'func-${token}'
    planName: 'plan-${token}'
    location: location
    tags: tags
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    insightsName: monitoring.outputs.insightsName
    blobEndpoint: storage.outputs.blobEndpoint
    deploymentContainerUrl: storage.outputs.deploymentContainerUrl
    alwaysReadyInstances: alwaysReadyInstances
    maximumInstanceCount: maximumInstanceCount
    corsOrigins: corsOrigins
    serviceName: serviceName
    cacheTsUtcWindowSeconds: cacheTsUtcWindowSeconds
    detectionCategories: detectionCategories
    counterShards: counterShards
    eventRetentionDays: eventRetentionDays
    tablesEndpoint: storage.outputs.tableEndpoint
    tablesPrefix: tablesPrefix
    acsEndpoint: calls.outputs.acsEndpoint
    acsResourceId: calls.outputs.acsResourceId
    acsSourcePhoneNumber: acsSourcePhoneNumber
    acsCognitiveServicesEndpoint: calls.outputs.speechEndpoint
    phone: phone
    acsTeamsResourceAccountId: acsTeamsResourceAccountId
    callAttempts: callAttempts
    callRetrySeconds: callRetrySeconds
    notificationDeadlineMinutes: notificationDeadlineMinutes
    phoneAllowedPrefixes: phoneAllowedPrefixes
    callsPerDay: callsPerDay
    sweepSchedule: sweepSchedule
    callRetentionDays: callRetentionDays
  }
}

module alerts 'modules/alerts.bicep' = {
  name: 'alerts'
  scope: group
  params: {
    prefix: environmentName
    location: location
    tags: tags
    insightsName: monitoring.outputs.insightsName
    healthUrl: '${app.outputs.url}/api/health'
    alertEmail: alertEmail
    alertWhenQuietFor: alertWhenQuietFor
  }
}

output AZURE_RESOURCE_GROUP string = group.name
output SERVICE_API_NAME string = app.outputs.name
output SERVICE_API_URL string = app.outputs.url
output EVENTS_URL string = '${app.outputs.url}/api/events'
output HEALTH_URL string = '${app.outputs.url}/api/health'
output OPENAPI_URL string = '${app.outputs.url}/api/openapi.json'
output TABLES_ENDPOINT string = storage.outputs.tableEndpoint
output STORAGE_ACCOUNT_NAME string = storage.outputs.name
output DEAD_LETTER_CONTAINER_ID string = storage.outputs.deadLetterContainerId
output ACS_NAME string = calls.outputs.acsName
output ACS_ENDPOINT string = calls.outputs.acsEndpoint
