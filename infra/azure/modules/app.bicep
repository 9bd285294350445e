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

@description('Comma-separated origins; may be empty.')
param corsOrigins string

@description('The subnet for the outbound traffic of the app; may be empty.')
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

@description('The key vault with the two secrets; may be empty.')
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

// Flex Consumption has no platform health check (healthCheckPath): alerts.bicep requests /api/health from outside instead.
// This API version is the first with siteUpdateStrategy. The compiler has no types for it: its newest are of 2025-03-01.
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
    // The identity that reads the secrets of key vault references.
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
      // deploying.md has the effect on requests and calls in progress.
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
        // Requests mostly wait for storage, and waiting requests are committed together: few instances with many requests in flight are faster
        // than many instances with few.
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
    // Settings of the Functions host.
    AzureWebJobsStorage__credential: 'managedidentity'
    AzureWebJobsStorage__clientId: identityClientId
    AzureWebJobsStorage__blobServiceUri: blobEndpoint
    APPLICATIONINSIGHTS_CONNECTION_STRING: insights.properties.ConnectionString
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
    // In bytes. The host reads bodies before the service. The limit is a little above the service's own 4 MiB, whose refusal has an explanation.
    FUNCTIONS_REQUEST_BODY_SIZE_LIMIT: '5242880'
    // The identity for DefaultAzureCredential. The second setting stops it from trying other credentials.
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
    // Settings that this template does not set:
    // - EVENT_TOPIC_KEY (the app's identity in its place)
    // - OUTCOME_WEBHOOK_URL (for receivers without Event Grid)
    // - OUTCOME_WEBHOOK_SECRET (a value of this template must not be a secret)
    // - TABLES_CONNECTION_STRING (TABLES_ENDPOINT and the app's identity in its place)
    // - ACS_CONNECTION_STRING (ACS_ENDPOINT and the app's identity in its place)
    // - ACS_TOKEN_ISSUER (the default is ACS's own)
    // - ACS_TOKEN_KEYS_URL (follows from the issuer)
    // - TWILIO_API_BASE_URL (the default is Twilio's own)
    // - TEST_CALLBACK_BASE_URL (debug builds only)
  }
}

// Two resources instead of a loop: the compiler finds the type of each by its literal name.
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
