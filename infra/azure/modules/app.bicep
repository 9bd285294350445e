// The function app on a Flex Consumption plan, with every setting of src/settings.ts.
param name string
param planName string
param location string
param tags object
param identityId string
param identityClientId string
param insightsName string
param blobEndpoint string
param deploymentContainerUrl string
param alwaysReadyInstances int
param maximumInstanceCount int

@description('Recreate or RollingUpdate.')
param siteUpdateStrategy string

@description('Comma-separated origins; empty for none.')
param corsOrigins string

@description('Of the network that the app goes out through; empty for none.')
param subnetId string

param serviceName string
param cacheTsUtcWindowSeconds int
param detectionCategories string
param counterShards int

@description('on or off')
param httpStreams string

param eventRetentionDays string
param backupContainerUrl string
param tablesEndpoint string
param tablesPrefix string

@description('on or off')
param phone string

param acsEndpoint string
param acsResourceId string
param acsSourcePhoneNumber string
param acsTeamsResourceAccountId string
param acsCognitiveServicesEndpoint string

@description('twilio, or empty for Communication Services.')
param phoneProvider string

param twilioAccountSid string
param twilioApiSid string

@description('Of the key vault that has the two secrets; empty for none.')
param twilioVaultUri string

param twilioSourcePhoneNumber string
param twilioCallsPerSecond int
param twilioVoice string
param twilioTokenRotation bool
param callAttempts int
param callRetrySeconds int
param callRingSeconds int
param notificationDeadlineMinutes int
param phoneAllowedPrefixes string
param callsPerDay int
param callsAtOnce int
param sweepSchedule string
param callRetentionDays int
param eventTopicEndpoint string

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource plan 'Microsoft.Web/serverfarms@2024-04-01' = {
  name: planName
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: { reserved: true }
}

// Flex Consumption has no platform health check (healthCheckPath): alerts.bicep asks /api/health from outside instead.
// This version is the first with siteUpdateStrategy, and the compiler has no types of it (the newest it has are of 2025-03-01).
#disable-next-line BCP081
resource site 'Microsoft.Web/sites@2025-05-01' = {
  name: name
  location: location
  tags: union(tags, { 'azd-service-name': 'api' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    // Whose role reads what references to a key vault name.
    keyVaultReferenceIdentity: identityId
    publicNetworkAccess: 'Enabled'
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    siteConfig: {
      minTlsVersion: '1.2'
      http20Enabled: true
      cors: {
        allowedOrigins: empty(corsOrigins) ? [] : map(split(corsOrigins, ','), origin => trim(origin))
        supportCredentials: false
      }
    }
    functionAppConfig: {
      runtime: {
        name: 'node'
        version: '24'
      }
      deployment: {
        storage: {
          type: 'blobContainer'
          value: deploymentContainerUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      // deploying.md says what each does to requests and calls under way.
      siteUpdateStrategy: { type: siteUpdateStrategy }
      scaleAndConcurrency: {
        instanceMemoryMB: 2048
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: alwaysReadyInstances == 0 ? [] : [
          {
            name: 'http'
            instanceCount: alwaysReadyInstances
          }
        ]
        // Requests mostly wait for storage, and those that wait together are committed together: few instances with many requests
        // in flight are faster than many instances with few.
        triggers: { http: { perInstanceConcurrency: 100 } }
      }
    }
  }
}

// Settings come after the site, because its host name (which Azure may make unique) is in them.
resource settings 'Microsoft.Web/sites/config@2024-04-01' = {
  parent: site
  name: 'appsettings'
  properties: {
    // The host's own.
    AzureWebJobsStorage__credential: 'managedidentity'
    AzureWebJobsStorage__clientId: identityClientId
    AzureWebJobsStorage__blobServiceUri: blobEndpoint
    APPLICATIONINSIGHTS_CONNECTION_STRING: insights.properties.ConnectionString
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
    // In bytes. The host reads bodies before the service sees them: a little more than the service itself takes (4 MiB, which it refuses in words).
    FUNCTIONS_REQUEST_BODY_SIZE_LIMIT: '5242880'
    // Which identity, for DefaultAzureCredential; the second stops it from trying anything else.
    AZURE_CLIENT_ID: identityClientId
    AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential'

    SERVICE_NAME: serviceName
    CACHE_TS_UTC_WINDOW_SECONDS: string(cacheTsUtcWindowSeconds)
    DETECTION_CATEGORIES: detectionCategories
    COUNTER_SHARDS: string(counterShards)
    HTTP_STREAMS: httpStreams
    EVENT_RETENTION_DAYS: eventRetentionDays
    BACKUP_CONTAINER_URL: backupContainerUrl
    TABLES_ENDPOINT: tablesEndpoint
    TABLES_PREFIX: tablesPrefix
    PHONE: phone
    PHONE_PROVIDER: phoneProvider
    ACS_ENDPOINT: acsEndpoint
    ACS_SOURCE_PHONE_NUMBER: acsSourcePhoneNumber
    ACS_TEAMS_RESOURCE_ACCOUNT_ID: acsTeamsResourceAccountId
    ACS_COGNITIVE_SERVICES_ENDPOINT: acsCognitiveServicesEndpoint
    ACS_RESOURCE_ID: acsResourceId
    TWILIO_ACCOUNT_SID: twilioAccountSid
    TWILIO_API_KEY_SID: twilioApiSid
    TWILIO_API_KEY_SECRET: empty(twilioVaultUri) ? '' : '@Microsoft.KeyVault(SecretUri=${twilioVaultUri}secrets/twilio-api-key-secret)'
    TWILIO_AUTH_TOKEN: empty(twilioVaultUri) ? '' : '@Microsoft.KeyVault(SecretUri=${twilioVaultUri}secrets/twilio-auth-token)'
    TWILIO_SECONDARY_AUTH_TOKEN: empty(twilioVaultUri) || !twilioTokenRotation ? '' : '@Microsoft.KeyVault(SecretUri=${twilioVaultUri}secrets/twilio-secondary-auth-token)'
    TWILIO_SOURCE_PHONE_NUMBER: twilioSourcePhoneNumber
    TWILIO_CALLS_PER_SECOND: string(twilioCallsPerSecond)
    TWILIO_VOICE: twilioVoice
    CALLBACK_BASE_URL: 'https://${site.properties.defaultHostName}'
    CALL_ATTEMPTS: string(callAttempts)
    CALL_RETRY_SECONDS: string(callRetrySeconds)
    CALL_RING_SECONDS: string(callRingSeconds)
    NOTIFICATION_DEADLINE_MINUTES: string(notificationDeadlineMinutes)
    PHONE_ALLOWED_PREFIXES: phoneAllowedPrefixes
    CALLS_PER_DAY: string(callsPerDay)
    CALLS_AT_ONCE: string(callsAtOnce)
    SWEEP_SCHEDULE: sweepSchedule
    CALL_RETENTION_DAYS: string(callRetentionDays)
    EVENT_TOPIC_ENDPOINT: eventTopicEndpoint
    // not set: EVENT_TOPIC_KEY (the app's identity in its place)
    // not set: OUTCOME_WEBHOOK_URL (for receivers without Event Grid)
    // not set: OUTCOME_WEBHOOK_SECRET (a secret is no value of this template)
    // not set: TABLES_CONNECTION_STRING (TABLES_ENDPOINT and the app's identity in its place)
    // not set: ACS_CONNECTION_STRING (ACS_ENDPOINT and the app's identity in its place)
    // not set: ACS_TOKEN_ISSUER (the default is ACS's own)
    // not set: ACS_TOKEN_KEYS_URL (follows from the issuer)
    // not set: TWILIO_API_BASE_URL (the default is Twilio's own)
    // not set: TEST_CALLBACK_BASE_URL (debug builds only)
  }
}

// Two resources and no loop: the compiler tells the types of the two apart by a name that it can see.
resource noPasswordsForScm 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-04-01' = {
  parent: site
  name: 'scm'
  properties: { allow: false }
}

resource noPasswordsForFtp 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-04-01' = {
  parent: site
  name: 'ftp'
  properties: { allow: false }
}

output name string = site.name
output url string = 'https://${site.properties.defaultHostName}'
